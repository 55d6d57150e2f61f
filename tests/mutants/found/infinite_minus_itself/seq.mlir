module @seq attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>) {
    %1 = stablehlo.log %arg0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
