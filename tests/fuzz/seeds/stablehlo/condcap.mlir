module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4x8xf32>, %arg2: tensor<8x8xf32>) -> (tensor<4x8xf32> {jax.result_info = "result[0]"}, tensor<4x8xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %1:2 = "stablehlo.case"(%0) ({
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
      %3 = stablehlo.multiply %arg1, %2 : tensor<4x8xf32>
      %4 = stablehlo.slice %arg2 [0:4, 0:8] : (tensor<8x8xf32>) -> tensor<4x8xf32>
      %5 = stablehlo.subtract %arg1, %4 : tensor<4x8xf32>
      stablehlo.return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
    }, {
      %2 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %2, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>
    }) : (tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    return %1#0, %1#1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
}
