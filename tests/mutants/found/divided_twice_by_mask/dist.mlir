module @seq attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi1>) -> (tensor<8xf32>) {
    %5 = stablehlo.convert %arg1 : (tensor<8xi1>) -> tensor<8xf32>
    %6 = stablehlo.divide %arg0, %5 : tensor<8xf32>
    %7 = stablehlo.divide %6, %5 : tensor<8xf32>
    return %7 : tensor<8xf32>
  }
}
