module @jit__lambda attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["tp"=2]> {stablehlo.mesh = {axes = [{name = "tp", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<5x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"tp"}]>}, %arg2: tensor<5x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp"}, {}]>}) -> (tensor<3x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2) in_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}, {"tp"}]>, <@mesh, [{}, {"tp"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"tp"} (%arg3: tensor<3x4xf32>, %arg4: tensor<5x4x2xf32>, %arg5: tensor<5x2x4xf32>) {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %1:4 = stablehlo.while(%iterArg = %arg4, %iterArg_0 = %arg5, %iterArg_1 = %c, %iterArg_2 = %arg3) : tensor<5x4x2xf32>, tensor<5x2x4xf32>, tensor<i32>, tensor<3x4xf32>
      cond {
        %c_3 = stablehlo.constant dense<5> : tensor<i32>
        %2 = stablehlo.compare LT, %iterArg_1, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_1) : (tensor<5x4x2xf32>, tensor<i32>) -> tensor<4x2xf32>
        %3 = func.call @dynamic_index_in_dim_0(%iterArg_0, %iterArg_1) : (tensor<5x2x4xf32>, tensor<i32>) -> tensor<2x4xf32>
        %4 = func.call @closed_call(%iterArg_2, %2, %3) : (tensor<3x4xf32>, tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
        %c_3 = stablehlo.constant dense<1> : tensor<i32>
        %5 = stablehlo.add %iterArg_1, %c_3 : tensor<i32>
        stablehlo.return %iterArg, %iterArg_0, %5, %4 : tensor<5x4x2xf32>, tensor<5x2x4xf32>, tensor<i32>, tensor<3x4xf32>
      }
      sdy.return %1#3 : tensor<3x4xf32>
    } : (tensor<3x4xf32>, tensor<5x4x4xf32>, tensor<5x4x4xf32>) -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<5x4x2xf32>, %arg1: tensor<i32>) -> tensor<4x2xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 4, 2] : (tensor<5x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x2xf32>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<5x2x4xf32>, %arg1: tensor<i32>) -> tensor<2x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 2, 4] : (tensor<5x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }
  func.func private @closed_call(%arg0: tensor<3x4xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<2x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %2 = stablehlo.maximum %0, %1 : tensor<3x2xf32>
    %3 = stablehlo.dot_general %2, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
    %4 = stablehlo.add %arg0, %3 : tensor<3x4xf32>
    %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %6 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %5 : tensor<3x4xf32>
  }
}
