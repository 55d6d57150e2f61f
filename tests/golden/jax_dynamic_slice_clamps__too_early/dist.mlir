module @jit__lambda attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["dp"=2]> {stablehlo.mesh = {axes = [{name = "dp", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"dp"}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<2x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"dp"}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {"dp"}]>, <@mesh, []>] out_shardings=[<@mesh, [{}, {"dp"}]>] manual_axes={"dp"} (%arg2: tensor<6x2xf32>, %arg3: tensor<i32>) {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.minimum %arg3, %c : tensor<i32>
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_1 = stablehlo.constant dense<6> : tensor<i32>
      %3 = stablehlo.add %1, %c_1 : tensor<i32>
      %4 = stablehlo.select %2, %3, %1 : tensor<i1>, tensor<i32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %5 = stablehlo.dynamic_slice %arg2, %4, %c_2, sizes = [2, 2] : (tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
      sdy.return %5 : tensor<2x2xf32>
    } : (tensor<6x4xf32>, tensor<i32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
