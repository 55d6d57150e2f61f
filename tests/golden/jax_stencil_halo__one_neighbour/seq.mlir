module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x5xf32>) -> (tensor<6x5xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = call @_pad(%arg0, %c) : (tensor<6x5xf32>, tensor<i32>) -> tensor<8x7xf32>
    %1 = stablehlo.slice %0 [0:6, 1:6] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %2 = stablehlo.slice %0 [2:8, 1:6] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %3 = stablehlo.add %1, %2 : tensor<6x5xf32>
    %4 = stablehlo.slice %0 [1:7, 0:5] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %5 = stablehlo.add %3, %4 : tensor<6x5xf32>
    %6 = stablehlo.slice %0 [1:7, 2:7] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %7 = stablehlo.add %5, %6 : tensor<6x5xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<6x5xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %10 = call @_pad(%9, %c_0) : (tensor<6x5xf32>, tensor<i32>) -> tensor<8x7xf32>
    %11 = stablehlo.slice %10 [0:6, 1:6] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %12 = stablehlo.slice %10 [2:8, 1:6] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %13 = stablehlo.add %11, %12 : tensor<6x5xf32>
    %14 = stablehlo.slice %10 [1:7, 0:5] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %15 = stablehlo.add %13, %14 : tensor<6x5xf32>
    %16 = stablehlo.slice %10 [1:7, 2:7] : (tensor<8x7xf32>) -> tensor<6x5xf32>
    %17 = stablehlo.add %15, %16 : tensor<6x5xf32>
    %cst_1 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %19 = stablehlo.multiply %18, %17 : tensor<6x5xf32>
    return %19 : tensor<6x5xf32>
  }
  func.func private @_pad(%arg0: tensor<6x5xf32>, %arg1: tensor<i32>) -> tensor<8x7xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<6x5xf32>, tensor<f32>) -> tensor<8x7xf32>
    return %1 : tensor<8x7xf32>
  }
}
