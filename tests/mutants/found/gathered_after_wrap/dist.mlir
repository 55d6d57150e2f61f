module @dist attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x3xi8>, %arg1: tensor<i32>) -> (tensor<2x3xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.add %arg0, %arg0 : tensor<6x3xi8>
    %1 = stablehlo.dynamic_slice %2, %arg1, %c, sizes = [2, 3] : (tensor<6x3xi8>, tensor<i32>, tensor<i32>) -> tensor<2x3xi8>
    %3 = stablehlo.convert %1 : (tensor<2x3xi8>) -> tensor<2x3xi32>
    return %3 : tensor<2x3xi32>
  }
}
