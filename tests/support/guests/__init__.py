"""Virtual machines of the tests': another kernel, or a service manager that is not the host's (QEMU, no KVM needed).

`kernels` fetches kernels, `image` the one root file system of all of them, `machine` boots one for a job and gives back
what the job left, `project` makes a job of some of our own tests.
"""
