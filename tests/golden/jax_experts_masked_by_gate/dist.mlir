module @jit_layer attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["ep"=2]> {stablehlo.mesh = {axes = [{name = "ep", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<4x5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"ep"}, {}, {}]>}) -> (tensor<6x3xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2) in_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>, <@mesh, [{"ep"}, {}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"ep"} (%arg3: tensor<6x5xf32>, %arg4: tensor<5x4xf32>, %arg5: tensor<2x5x3xf32>) {
      %1 = stablehlo.dot_general %arg3, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
      %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
      %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6xf32>
      %4 = stablehlo.maximum %3, %2 : tensor<6xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
      %7 = stablehlo.subtract %1, %6 : tensor<6x4xf32>
      %8 = stablehlo.exponential %7 : tensor<6x4xf32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %9 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
      %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
      %12 = stablehlo.divide %8, %11 : tensor<6x4xf32>
      %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %13 = stablehlo.reduce(%12 init: %cst_2) applies stablehlo.maximum across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
      %14 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
      %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
      %16 = stablehlo.compare GE, %12, %15, FLOAT : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xi1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %17 = func.call @_where(%16, %12, %cst_3) : (tensor<6x4xi1>, tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %18 = stablehlo.reduce(%17 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<6xf32>
      %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
      %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x4xf32>
      %21 = stablehlo.divide %17, %20 : tensor<6x4xf32>
      %c = stablehlo.constant dense<1> : tensor<ui32>
      %c_5 = stablehlo.constant dense<2> : tensor<ui32>
      %22 = stablehlo.partition_id : tensor<ui32>
      %23 = stablehlo.divide %22, %c : tensor<ui32>
      %24 = stablehlo.remainder %23, %c_5 : tensor<ui32>
      %25 = stablehlo.convert %24 : (tensor<ui32>) -> tensor<i32>
      %c_6 = stablehlo.constant dense<2> : tensor<i32>
      %26 = stablehlo.multiply %c_6, %25 : tensor<i32>
      %c_7 = stablehlo.constant dense<0> : tensor<i32>
      %27 = stablehlo.compare LT, %26, %c_7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_8 = stablehlo.constant dense<4> : tensor<i32>
      %28 = stablehlo.add %26, %c_8 : tensor<i32>
      %29 = stablehlo.select %27, %28, %26 : tensor<i1>, tensor<i32>
      %c_9 = stablehlo.constant dense<0> : tensor<i32>
      %30 = stablehlo.dynamic_slice %21, %c_9, %29, sizes = [6, 2] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x2xf32>
      %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %31 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<6x2xf32>
      %32 = stablehlo.compare GT, %30, %31, FLOAT : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xi1>
      %33 = stablehlo.convert %32 : (tensor<6x2xi1>) -> tensor<6x2xf32>
      %34 = stablehlo.dot_general %arg5, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x5x3xf32>, tensor<6x5xf32>) -> tensor<2x3x6xf32>
      %35 = stablehlo.dot_general %33, %34, batching_dims = [1, 0] x [0, 2], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<6x2xf32>, tensor<2x3x6xf32>) -> tensor<2x6x3xf32>
      %36 = stablehlo.tanh %35 : tensor<2x6x3xf32>
      %37 = stablehlo.dot_general %30, %36, batching_dims = [0] x [1], contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x2xf32>, tensor<2x6x3xf32>) -> tensor<6x3xf32>
      %38 = "stablehlo.all_reduce"(%37) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %39 = stablehlo.add %arg6, %arg7 : tensor<f32>
        stablehlo.return %39 : tensor<f32>
      }) : (tensor<6x3xf32>) -> tensor<6x3xf32>
      sdy.return %38 : tensor<6x3xf32>
    } : (tensor<6x5xf32>, tensor<5x4xf32>, tensor<4x5x3xf32>) -> tensor<6x3xf32>
    return %0 : tensor<6x3xf32>
  }
  func.func private @_where(%arg0: tensor<6x4xi1>, %arg1: tensor<6x4xf32>, %arg2: tensor<f32>) -> tensor<6x4xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<6x4xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<6x4xi1>, tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
}
