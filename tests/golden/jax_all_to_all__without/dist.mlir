module @jit__lambda attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["cp"=2]> {stablehlo.mesh = {axes = [{name = "cp", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"cp"}, {}]>}) -> (tensor<8x6xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"cp"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"cp"}, {}]>] out_shardings=[<@mesh, [{}, {"cp"}]>] manual_axes={"cp"} (%arg1: tensor<4x6xf32>) {
      %1 = stablehlo.slice %arg1 [0:4, 0:3] : (tensor<4x6xf32>) -> tensor<4x3xf32>
      %2 = stablehlo.slice %arg1 [0:4, 3:6] : (tensor<4x6xf32>) -> tensor<4x3xf32>
      %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
      %4 = func.call @cumsum(%3) : (tensor<8x3xf32>) -> tensor<8x3xf32>
      sdy.return %4 : tensor<8x3xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
  func.func private @cumsum(%arg0: tensor<8x3xf32>) -> tensor<8x3xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<8x3xf32>) -> tensor<8x3xf32>
    return %0 : tensor<8x3xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<8x3xf32>) -> tensor<8x3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 8, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x3xf32>
    return %1 : tensor<8x3xf32>
  }
}
