#!/usr/bin/env bash
# Builds a folder with a CUDA 13.0 compiler out of Python packages, for `cargo build --release --features cuda` on
# a machine without a GPU, without root and without NVIDIA's installer.
#
#   scripts/cuda-toolkit.sh FOLDER            (x86-64 Linux; needs python3 with venv, gcc, cargo; about 350 MB)
#   source FOLDER/environment
#   cargo build --release --features cuda
#
# What is special: candle links libcuda, libcublas, libcublasLt, libcurand and libnvrtc at build time, so a binary
# would not even start where they are missing. The folder holds static stand-ins for them: each function opens the
# real library at its first call, and answers with the library's own "not initialised" where there is none. The
# binary thus names no CUDA library, starts everywhere, and needs at run time, for a GPU only: the driver
# (libcuda.so.1) and libcublas.so.13, libcublasLt.so.13, libcurand.so.10 (of a toolkit, or of the Python packages
# nvidia-cublas and nvidia-curand with LD_LIBRARY_PATH).
#
# CUDA_COMPUTE_CAP (default 90: H100, H200) says which GPUs the kernels are for.
set -euo pipefail

folder=${1:?usage: scripts/cuda-toolkit.sh FOLDER}
here=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "scripts/cuda-toolkit.sh: expected Linux on x86-64, found $(uname -sm); install NVIDIA's toolkit instead" >&2
    exit 2
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# 1. The compiler: nvcc, its front end and headers, the device compiler, the runtime, the C++ library.
if [ ! -x "$folder/bin/nvcc" ]; then
    python3 -m venv "$folder/python"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*' \
        'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*'
    packed=$(echo "$folder"/python/lib/python3*/site-packages/nvidia/cu13)
    cp -a "$packed/." "$folder/"
    rm -rf "$folder/python"
    chmod +x "$folder"/bin/* "$folder"/nvvm/bin/*
    ln -sfn lib "$folder/lib64"
fi
# Only the static runtime: with a shared one beside it the linker would take that.
rm -f "$folder"/lib/libcudart.so*
ln -sfn libcudart_static.a "$folder/lib/libcudart.a"

# 2. Static stand-ins of the libraries, one function for each that candle's binding declares.
manifest=$(cd "$here" && cargo metadata --locked --format-version 1 --features cuda |
    python3 -c 'import json, sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "cudarc"))')
binding=$(dirname "$manifest")/src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# stand_in LIBRARY MODULE STATUS FILE...: STATUS is what functions return where the library is missing.
stand_in() {
    local library=$1 module=$2 status=$3
    shift 3
    grep -ohE '^ +(pub )?fn [a-z][A-Za-z0-9_]*\(' "$binding/$module/sys/mod.rs" |
        sed -E 's/.*fn //; s/\(//' | grep -E '^(cu|nvrtc)' | sort -u >"$work/$library.names"
    {
        echo '#include <dlfcn.h>'
        echo '#include <stddef.h>'
        echo 'static const char *const names[] = {'
        sed 's/.*/"&",/' "$work/$library.names"
        echo '};'
        echo "static const char *const files[] = {$(printf '"%s",' "$@")};"
        echo "static long missing(void) { return $status; }"
        echo 'static const char *no_text(void) { return "the CUDA library is not installed"; }'
        cat <<CODE
__attribute__((visibility("hidden"))) void *ragscope_resolve_$library(size_t index) {
    static void *library;
    for (size_t i = 0; !library && i < sizeof files / sizeof *files; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_GLOBAL);
    void *found = library ? dlsym(library, names[index]) : NULL;
    if (found) return found;
    const char *name = names[index];
    /* These give a text, not a status. */
    for (const char *at = name; *at; at++)
        if (__builtin_strncmp(at, "GetStatus", 9) == 0 || __builtin_strncmp(at, "GetErrorString", 14) == 0)
            if (name[2] != 'G') return (void *)no_text;
    return (void *)missing;
}
CODE
    } >"$work/$library.c"
    # Calls go through a table. An entry begins as the way to the resolver, which keeps all argument registers.
    awk -v library="$library" '
        BEGIN { print ".text" }
        {
            i = NR - 1
            printf ".globl %s\n.type %s,@function\n%s: jmp *table+%d(%%rip)\n", $1, $1, $1, 8 * i
            printf "first_%d: pushq $%d\njmp resolve\n", i, i
        }
        END {
            print "resolve:"
            n = split("rax rdi rsi rdx rcx r8 r9", registers, " ")
            for (i = 1; i <= n; i++) print "pushq %" registers[i]
            print "subq $136, %rsp"
            for (i = 0; i < 8; i++) printf "movups %%xmm%d, %d(%%rsp)\n", i, 16 * i
            print "movq 192(%rsp), %rdi"
            print "call ragscope_resolve_" library
            print "movq %rax, %r11"
            print "movq 192(%rsp), %rax"
            print "leaq table(%rip), %r10"
            print "movq %r11, (%r10,%rax,8)"
            for (i = 0; i < 8; i++) printf "movups %d(%%rsp), %%xmm%d\n", 16 * i, i
            print "addq $136, %rsp"
            for (i = n; i >= 1; i--) print "popq %" registers[i]
            print "addq $8, %rsp"
            print "jmp *%r11"
            print ".section .data.rel,\"aw\",@progbits\n.p2align 3\ntable:"
            for (i = 0; i < NR; i++) print ".quad first_" i
            print ".section .note.GNU-stack,\"\",@progbits"
        }' "$work/$library.names" >"$work/$library.calls.s"
    gcc -O2 -fPIC -c "$work/$library.c" -o "$work/$library.o"
    gcc -c "$work/$library.calls.s" -o "$work/$library.calls.o"
    rm -f "$folder/lib/lib$library.a" "$folder/lib/lib$library.so"
    ar rcs "$folder/lib/lib$library.a" "$work/$library.o" "$work/$library.calls.o"
    echo "lib$library.a: $(wc -l <"$work/$library.names") functions" >&2
}
stand_in cuda driver 100 libcuda.so.1 libcuda.so                        # CUDA_ERROR_NO_DEVICE
stand_in cublas cublas 1 libcublas.so.13 libcublas.so                   # CUBLAS_STATUS_NOT_INITIALIZED
stand_in cublasLt cublaslt 1 libcublasLt.so.13 libcublasLt.so           # CUBLAS_STATUS_NOT_INITIALIZED
stand_in curand curand 101 libcurand.so.10 libcurand.so                 # CURAND_STATUS_NOT_INITIALIZED
stand_in nvrtc nvrtc 11 libnvrtc.so.13 libnvrtc.so                      # NVRTC_ERROR_INTERNAL_ERROR

# 3. The environment.
cat >"$folder/environment" <<TEXT
export CUDA_HOME='$folder'
export CUDA_PATH='$folder'
export NVCC='$folder/bin/nvcc'
export PATH='$folder/bin':"\$PATH"
export CUDARC_CUDA_VERSION=13000
export CUDA_COMPUTE_CAP=\${CUDA_COMPUTE_CAP:-90}
TEXT
cat "$folder/environment"
