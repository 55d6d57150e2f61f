module @jit__lambda attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["sp"=3]> {stablehlo.mesh = {axes = [{name = "sp", size = 3 : i64}]}}
  func.func public @main(%arg0: tensor<1x6x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"sp"}, {}, {}]>}, %arg1: tensor<3x3x2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, %arg2: tensor<1x6x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"sp"}, {}, {}]>}) -> (tensor<3x3x2x2xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2) in_shardings=[<@mesh, [{}, {"sp"}, {}, {}]>, <@mesh, [{}, {}, {}, {}]>, <@mesh, [{}, {"sp"}, {}, {}]>] out_shardings=[<@mesh, [{}, {}, {}, {}]>] manual_axes={"sp"} (%arg3: tensor<1x2x4x2xf32>, %arg4: tensor<3x3x2x2xf32>, %arg5: tensor<1x2x4x2xf32>) {
      %1 = stablehlo.convolution(%arg3, %arg4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x2x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x2x4x2xf32>
      %2 = stablehlo.subtract %1, %arg5 : tensor<1x2x4x2xf32>
      %3 = stablehlo.multiply %2, %2 : tensor<1x2x4x2xf32>
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x2x4x2xf32>
      %5 = stablehlo.multiply %4, %2 : tensor<1x2x4x2xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<1x2x4x2xf32>, tensor<f32>) -> tensor<f32>
      %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x2x4x2xf32>
      %8 = stablehlo.multiply %7, %5 : tensor<1x2x4x2xf32>
      %9 = stablehlo.convolution(%arg3, %8) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>) -> tensor<3x3x2x2xf32>
      %10 = "stablehlo.all_reduce"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %11 = stablehlo.add %arg6, %arg7 : tensor<f32>
        stablehlo.return %11 : tensor<f32>
      }) : (tensor<3x3x2x2xf32>) -> tensor<3x3x2x2xf32>
      sdy.return %10 : tensor<3x3x2x2xf32>
    } : (tensor<1x6x4x2xf32>, tensor<3x3x2x2xf32>, tensor<1x6x4x2xf32>) -> tensor<3x3x2x2xf32>
    return %0 : tensor<3x3x2x2xf32>
  }
}
