module @jit__lambda attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["sp"=3]> {stablehlo.mesh = {axes = [{name = "sp", size = 3 : i64}]}}
  func.func public @main(%arg0: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"sp"}, {}]>}) -> (tensor<6x5xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"sp"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"sp"}, {}]>] out_shardings=[<@mesh, [{"sp"}, {}]>] manual_axes={"sp"} (%arg1: tensor<2x5xf32>) {
      %1 = stablehlo.slice %arg1 [1:2, 0:5] : (tensor<2x5xf32>) -> tensor<1x5xf32>
      %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<1x5xf32>) -> tensor<1x5xf32>
      %3 = stablehlo.slice %arg1 [0:1, 0:5] : (tensor<2x5xf32>) -> tensor<1x5xf32>
      %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>}> : (tensor<1x5xf32>) -> tensor<1x5xf32>
      %5 = stablehlo.concatenate %2, %arg1, %4, dim = 0 : (tensor<1x5xf32>, tensor<2x5xf32>, tensor<1x5xf32>) -> tensor<4x5xf32>
      %c = stablehlo.constant dense<0> : tensor<i32>
      %6 = func.call @_pad(%5, %c) : (tensor<4x5xf32>, tensor<i32>) -> tensor<4x7xf32>
      %7 = stablehlo.slice %6 [0:2, 1:6] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %8 = stablehlo.slice %6 [2:4, 1:6] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %9 = stablehlo.add %7, %8 : tensor<2x5xf32>
      %10 = stablehlo.slice %6 [1:3, 0:5] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %11 = stablehlo.add %9, %10 : tensor<2x5xf32>
      %12 = stablehlo.slice %6 [1:3, 2:7] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %13 = stablehlo.add %11, %12 : tensor<2x5xf32>
      %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x5xf32>
      %15 = stablehlo.multiply %14, %13 : tensor<2x5xf32>
      %16 = stablehlo.slice %15 [1:2, 0:5] : (tensor<2x5xf32>) -> tensor<1x5xf32>
      %17 = "stablehlo.collective_permute"(%16) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<1x5xf32>) -> tensor<1x5xf32>
      %18 = stablehlo.slice %15 [0:1, 0:5] : (tensor<2x5xf32>) -> tensor<1x5xf32>
      %19 = "stablehlo.collective_permute"(%18) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1]]> : tensor<2x2xi64>}> : (tensor<1x5xf32>) -> tensor<1x5xf32>
      %20 = stablehlo.concatenate %17, %15, %19, dim = 0 : (tensor<1x5xf32>, tensor<2x5xf32>, tensor<1x5xf32>) -> tensor<4x5xf32>
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %21 = func.call @_pad(%20, %c_0) : (tensor<4x5xf32>, tensor<i32>) -> tensor<4x7xf32>
      %22 = stablehlo.slice %21 [0:2, 1:6] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %23 = stablehlo.slice %21 [2:4, 1:6] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %24 = stablehlo.add %22, %23 : tensor<2x5xf32>
      %25 = stablehlo.slice %21 [1:3, 0:5] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %26 = stablehlo.add %24, %25 : tensor<2x5xf32>
      %27 = stablehlo.slice %21 [1:3, 2:7] : (tensor<4x7xf32>) -> tensor<2x5xf32>
      %28 = stablehlo.add %26, %27 : tensor<2x5xf32>
      %cst_1 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
      %29 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x5xf32>
      %30 = stablehlo.multiply %29, %28 : tensor<2x5xf32>
      sdy.return %30 : tensor<2x5xf32>
    } : (tensor<6x5xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
  func.func private @_pad(%arg0: tensor<4x5xf32>, %arg1: tensor<i32>) -> tensor<4x7xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x7xf32>
    return %1 : tensor<4x7xf32>
  }
}
