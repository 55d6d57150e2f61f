module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x5xf32>, %arg1: tensor<5x4xf32>, %arg2: tensor<4x5x3xf32>) -> (tensor<6x3xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<6xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<6x4xf32>
    %7 = stablehlo.exponential %6 : tensor<6x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
    %11 = stablehlo.divide %7, %10 : tensor<6x4xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.maximum across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
    %15 = stablehlo.compare GE, %11, %14, FLOAT : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = call @_where(%15, %11, %cst_3) : (tensor<6x4xi1>, tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
    %20 = stablehlo.divide %16, %19 : tensor<6x4xf32>
    %21 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x5x3xf32>, tensor<6x5xf32>) -> tensor<4x3x6xf32>
    %22 = stablehlo.transpose %21, dims = [0, 2, 1] : (tensor<4x3x6xf32>) -> tensor<4x6x3xf32>
    %23 = stablehlo.tanh %22 : tensor<4x6x3xf32>
    %24 = stablehlo.dot_general %20, %23, batching_dims = [0] x [1], contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x4xf32>, tensor<4x6x3xf32>) -> tensor<6x3xf32>
    return %24 : tensor<6x3xf32>
  }
  func.func private @_where(%arg0: tensor<6x4xi1>, %arg1: tensor<6x4xf32>, %arg2: tensor<f32>) -> tensor<6x4xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<6x4xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<6x4xi1>, tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
}
