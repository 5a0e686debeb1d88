// SPDX-License-Identifier: MIT
//
// tests/apps/programs/goroutines.go - eight goroutines launch kernels through cgo
package main

// #include "launches.h"
import "C"
import "fmt"

func main() {
	sums := make(chan float64)
	for i := 0; i < 8; i++ {
		go func(count int) { sums <- float64(C.launches_run(C.int(count))) }(100 + i)
	}
	total := 0.0
	for i := 0; i < 8; i++ {
		total += <-sums
	}
	fmt.Printf("sum %.0f\n", total)
}
