// SPDX-License-Identifier: MIT
//
// tests/apps/programs/Threads.java - five threads of Java launch kernels through JNA
import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;

public class Threads {
    private static synchronized void add(double[] total, double sum) {
        total[0] += sum;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Function run = NativeLibrary.getInstance(arguments[0]).getFunction("launches_run");
        Thread[] threads = new Thread[5];
        double[] total = {0};

        for (int i = 0; i < threads.length; i++) {
            int count = 100 + i;
            threads[i] = new Thread(() -> add(total, run.invokeDouble(new Object[] {count})));
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.printf("sum %.0f%n", total[0]);
    }
}
