// SPDX-License-Identifier: MIT
//
// tests/apps/programs/threads.rs - four threads of Rust launch kernels
use std::thread;

extern "C" {
    fn launches_run(count: i32) -> f64;
}

fn main() {
    let threads: Vec<_> = (0..4)
        .map(|i| thread::spawn(move || unsafe { launches_run(100 + i) }))
        .collect();
    let sum: f64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("sum {}", sum);
}
