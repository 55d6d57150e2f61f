module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<6x5xf32>) -> (tensor<4x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:2, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x6xf32>, tensor<6x5xf32>) -> tensor<2x5xf32>
    %2 = stablehlo.slice %arg0 [2:4, 0:3] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.slice %arg1 [0:3, 0:5] : (tensor<6x5xf32>) -> tensor<3x5xf32>
    %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
    %5 = stablehlo.tanh %4 : tensor<2x5xf32>
    %6 = stablehlo.slice %arg0 [2:4, 3:6] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    %7 = stablehlo.slice %arg1 [3:6, 0:5] : (tensor<6x5xf32>) -> tensor<3x5xf32>
    %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
    %9 = stablehlo.tanh %8 : tensor<2x5xf32>
    %10 = stablehlo.add %5, %9 : tensor<2x5xf32>
    %11 = stablehlo.concatenate %1, %10, dim = 0 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
    return %11 : tensor<4x5xf32>
  }
}
