module @seq attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) -> (tensor<8xf32>) {
    %1 = stablehlo.constant dense<2> : tensor<8xi32>
    %4 = stablehlo.compare EQ, %arg1, %1, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %5 = stablehlo.convert %4 : (tensor<8xi1>) -> tensor<8xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<8xf32>
    return %6 : tensor<8xf32>
  }
}
