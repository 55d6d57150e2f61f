module @jit__lambda attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["pp"=2]> {stablehlo.mesh = {axes = [{name = "pp", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<2x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"pp"}, {}, {}]>}) -> (tensor<4x3xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {}]>, <@mesh, [{"pp"}, {}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"pp"} (%arg2: tensor<4x3xf32>, %arg3: tensor<1x3x3xf32>) {
      %1 = stablehlo.reshape %arg3 : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
      %2 = stablehlo.dot_general %arg2, %1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
      %3 = stablehlo.tanh %2 : tensor<4x3xf32>
      %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
      %5 = stablehlo.reshape %arg3 : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
      %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
      %7 = stablehlo.tanh %6 : tensor<4x3xf32>
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %9 = stablehlo.add %7, %8 : tensor<4x3xf32>
      %10 = "stablehlo.all_reduce"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %11 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %11 : tensor<f32>
      }) : (tensor<4x3xf32>) -> tensor<4x3xf32>
      sdy.return %10 : tensor<4x3xf32>
    } : (tensor<4x3xf32>, tensor<2x3x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
