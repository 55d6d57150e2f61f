module @jit__lambda attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["sp"=2]> {stablehlo.mesh = {axes = [{name = "sp", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<1x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"sp"}, {}]>}, %arg1: tensor<3x3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<1x8x2xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"sp"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {"sp"}, {}]>, <@mesh, [{}, {}, {}]>] out_shardings=[<@mesh, [{}, {"sp"}, {}]>] manual_axes={"sp"} (%arg2: tensor<1x4x3xf32>, %arg3: tensor<3x3x2xf32>) {
      %1 = stablehlo.slice %arg2 [0:1, 3:4, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x1x3xf32>
      %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
      %3 = stablehlo.slice %arg2 [0:1, 0:1, 0:3] : (tensor<1x4x3xf32>) -> tensor<1x1x3xf32>
      %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> : (tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
      %5 = stablehlo.concatenate %2, %arg2, %4, dim = 1 : (tensor<1x1x3xf32>, tensor<1x4x3xf32>, tensor<1x1x3xf32>) -> tensor<1x6x3xf32>
      %6 = stablehlo.convolution(%5, %arg3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x6x3xf32>, tensor<3x3x2xf32>) -> tensor<1x4x2xf32>
      sdy.return %6 : tensor<1x4x2xf32>
    } : (tensor<1x8x3xf32>, tensor<3x3x2xf32>) -> tensor<1x8x2xf32>
    return %0 : tensor<1x8x2xf32>
  }
}
