module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x3xf32>, %arg1: tensor<4x3xf32>) -> (tensor<4x3xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:8:2, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<4x3xf32>
    %3 = stablehlo.slice %arg0 [0:4, 0:3] : (tensor<8x3xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.add %2, %3 : tensor<4x3xf32>
    %5 = stablehlo.add %4, %arg1 : tensor<4x3xf32>
    return %5 : tensor<4x3xf32>
  }
}
