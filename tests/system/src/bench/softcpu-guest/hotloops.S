# Hot loops for tests/system/src/bench/softcpu: a PVH kernel that Benchtop and QEMU both start.
# Command line: "LETTER ITERATIONS REPETITIONS", decimal. After each repetition it writes a line with a checksum to COM1.

    .intel_syntax noprefix

    .section .note, "a", @note
    .long 4, 4, 18
    .asciz "Xen"
    .long start

    .set ARRAY, 0x400000            # 64 KiB of data
    .set COPY, 0x420000
    .set PAGES, 0x4000000           # 32 MiB behind 4 KiB pages at PAGES_AT
    .set PAGES_AT, 0x40000000
    .set PAGE_COUNT, 4096
    .set TABLES, 0x800000           # PML4, PDPT, PD (1 GiB), PD (second GiB), page tables

    .text
    .globl start
    .code32
start:
    cld
    mov ebp, [ebx + 24]             # hvm_start_info.cmdline_paddr
    mov edi, TABLES
    mov ecx, 4096
    xor eax, eax
    rep stosd
    mov dword ptr [TABLES], TABLES + 0x1000 + 7
    mov dword ptr [TABLES + 0x1000], TABLES + 0x2000 + 7
    mov dword ptr [TABLES + 0x1008], TABLES + 0x3000 + 7
    mov edi, TABLES + 0x2000
    mov eax, 0x87
1:  mov [edi], eax
    add edi, 8
    add eax, 0x200000
    cmp edi, TABLES + 0x3000
    jb 1b
    mov edi, TABLES + 0x3000        # page directory of PAGES_AT
    mov eax, TABLES + 0x4000 + 7
    mov ecx, PAGE_COUNT / 512
1:  mov [edi], eax
    add edi, 8
    add eax, 0x1000
    loop 1b
    mov edi, TABLES + 0x4000
    mov eax, PAGES + 7
    mov ecx, PAGE_COUNT
1:  mov [edi], eax
    mov dword ptr [edi + 4], 0
    add edi, 8
    add eax, 0x1000
    loop 1b
    mov eax, TABLES
    mov cr3, eax
    mov eax, cr4
    or eax, 0x620                   # PAE, OSFXSR, OSXMMEXCPT
    mov cr4, eax
    mov ecx, 0xc0000080
    rdmsr
    or eax, 0x101                   # LME, SCE
    wrmsr
    mov eax, cr0
    and eax, ~4
    or eax, 0x80010003              # PG, WP, MP, PE
    mov cr0, eax
    lgdt [gdtr]
    jmp 0x08:long_mode

    .code64
long_mode:
    mov eax, 0x10
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov esp, offset stack_top
    # syscall: STAR, LSTAR, SFMASK; the kernel's GS
    mov ecx, 0xc0000081
    xor eax, eax
    mov edx, 0x00180008             # user 0x18 + 16 / + 8, kernel 0x08
    wrmsr
    mov ecx, 0xc0000082
    mov eax, offset syscall_entry
    xor edx, edx
    wrmsr
    mov ecx, 0xc0000084
    mov eax, 0x600
    wrmsr
    mov ecx, 0xc0000102
    mov eax, offset per_cpu
    wrmsr
    # data
    mov edi, ARRAY
    mov ecx, 0x8000
    mov rax, 0x9e3779b97f4a7c15
    mov rbx, rax
1:  mov [rdi], rax
    add rdi, 8
    imul rax, rbx
    add rax, rbx
    dec ecx
    jnz 1b
    # command line
    mov esi, ebp
    movzx r13d, byte ptr [rsi]
    add rsi, 2
    call number
    mov r14, rax
    call number
    mov r15, rax
again:
    mov r12, r14
    mov eax, 1
    lea ebx, [rax + 2]
    mov ecx, 5
    mov edx, 7
    mov esi, 11
    mov edi, 13
    lea r8, [rip + loops]
    mov r9d, r13d
    sub r9d, 'a'
    call [r8 + r9 * 8]
    mov rbx, rax
    mov ecx, 16
1:  rol rbx, 4
    mov eax, ebx
    and eax, 15
    add al, '0'
    cmp al, '9'
    jbe 2f
    add al, 'a' - '9' - 1
2:  call put
    dec ecx
    jnz 1b
    mov al, 10
    call put
    dec r15
    jnz again
    cli
    hlt

put:
    mov ah, al
    mov edx, 0x3fd
1:  in al, dx
    test al, 0x20
    jz 1b
    mov al, ah
    mov edx, 0x3f8
    out dx, al
    ret

number:
    xor eax, eax
1:  movzx ecx, byte ptr [rsi]
    inc rsi
    sub ecx, '0'
    cmp ecx, 9
    ja 2f
    imul rax, rax, 10
    add rax, rcx
    jmp 1b
2:  ret

    .align 16
alu:
1:  add rax, rbx
    xor rbx, rax
    lea rcx, [rax + rbx * 4 + 7]
    shl rcx, 3
    sub rdx, rcx
    and rsi, rdx
    or rdi, rax
    add eax, 12345
    dec r12
    jnz 1b
    add rax, rdx
    add rax, rsi
    add rax, rdi
    ret

    .align 16
branchy:
    mov rbx, 6364136223846793005
    mov rcx, 1442695040888963407
1:  imul rax, rbx
    add rax, rcx
    mov rsi, rax
    shr rsi, 40
    test esi, 1
    jz 2f
    add rdx, rsi
    jmp 3f
2:  sub rdx, 3
3:  cmp esi, 0x800000
    jb 4f
    xor rdx, rsi
4:  test esi, 12
    jne 5f
    inc rdi
5:  dec r12
    jnz 1b
    lea rax, [rdx + rdi]
    ret

    .align 16
sieve:                              # of 32768 bytes
1:  mov edi, COPY
    mov ecx, 4096
    xor eax, eax
2:  mov [rdi], rax
    add rdi, 8
    dec ecx
    jnz 2b
    mov edi, COPY
    mov esi, 2
    xor ebx, ebx
3:  cmp byte ptr [rdi + rsi], 0
    jne 5f
    inc ebx
    lea edx, [rsi + rsi]
    cmp edx, 32768
    jae 5f
4:  mov byte ptr [rdi + rdx], 1
    add edx, esi
    cmp edx, 32768
    jb 4b
5:  inc esi
    cmp esi, 32768
    jb 3b
    dec r12
    jnz 1b
    mov eax, ebx
    ret

    .align 16
sum:
1:  mov esi, ARRAY
    mov ecx, 8192
2:  add rax, [rsi]
    add rsi, 8
    dec ecx
    jnz 2b
    dec r12
    jnz 1b
    ret

    .align 16
copy:
1:  mov esi, ARRAY
    mov edi, COPY
    mov ecx, 8192
2:  mov rax, [rsi]
    mov [rdi], rax
    add rsi, 8
    add rdi, 8
    dec ecx
    jnz 2b
    dec r12
    jnz 1b
    ret

    .align 16
fib:
    xor ebx, ebx
1:  mov edi, 20
    call fib_of
    add rbx, rax
    dec r12
    jnz 1b
    mov rax, rbx
    ret
fib_of:
    cmp edi, 2
    jae 1f
    mov eax, edi
    ret
1:  push rbx
    mov ebx, edi
    lea edi, [rbx - 1]
    call fib_of
    push rax
    lea edi, [rbx - 2]
    call fib_of
    pop rcx
    add rax, rcx
    pop rbx
    ret

    .align 16
bignum:                             # 32 words times one word, added: as libgcrypt and the kernel's MPI do
1:  mov esi, ARRAY
    mov edi, COPY
    mov r8d, 32
    xor ecx, ecx
    mov rbx, 0x9e3779b97f4a7c15
2:  mov rax, [rsi]
    mul rbx
    add rax, rcx
    adc rdx, 0
    add [rdi], rax
    adc rdx, 0
    mov rcx, rdx
    add rsi, 8
    add rdi, 8
    dec r8d
    jnz 2b
    dec r12
    jnz 1b
    lea rax, [rcx + rdx]
    ret

    .align 16
strings:
1:  mov esi, ARRAY
    mov edi, COPY
    mov ecx, 512
    rep movsq
    mov esi, ARRAY + 3
    mov edi, COPY
    mov ecx, 4000
    rep movsb
    mov edi, COPY
    mov ecx, 4096
    mov eax, 5
    rep stosb
    mov edi, COPY
    mov ecx, 100
    rep stosq
    dec r12
    jnz 1b
    mov rax, [COPY + 4088]
    ret

    .align 16
sse:
    pxor xmm1, xmm1
    pxor xmm2, xmm2
    pxor xmm4, xmm4
1:  mov esi, ARRAY
    mov ecx, 4096
2:  movdqu xmm0, [rsi]
    paddq xmm1, xmm0
    pxor xmm2, xmm0
    movdqa xmm3, xmm0
    psrlq xmm3, 7
    paddd xmm4, xmm3
    add rsi, 16
    dec ecx
    jnz 2b
    dec r12
    jnz 1b
    paddq xmm1, xmm2
    pxor xmm1, xmm4
    movq rax, xmm1
    ret

    .align 16
walk:                               # each pass with an empty TLB
1:  mov rax, cr3
    mov cr3, rax
    mov esi, PAGES_AT
    mov ecx, PAGE_COUNT
2:  add edx, [rsi]
    add rsi, 4096
    dec ecx
    jnz 2b
    dec r12
    jnz 1b
    mov eax, edx
    ret

    .align 16
syscalls:
    mov [per_cpu + 8], rsp
    mov ecx, offset user
    mov r11d, 2
    xor ebx, ebx
    sysretq
    .align 16
user:
    mov eax, 1
    mov edi, ebx
    syscall
    add rbx, rax
    dec r12
    jnz user
    xor eax, eax
    syscall
    .align 16
syscall_entry:
    swapgs
    mov gs:[0], rsp
    mov rsp, gs:[8]
    test eax, eax
    jz 1f
    push rcx
    push r11
    lea rax, [rdi + 3]
    pop r11
    pop rcx
    mov rsp, gs:[0]
    swapgs
    sysretq
1:  swapgs
    mov rax, rbx
    ret

    .data
    .align 16
loops:
    .quad alu, branchy, sieve, sum, copy, fib, bignum, strings, sse, walk, syscalls
gdt:
    .quad 0
    .quad 0x00af9b000000ffff        # 08 kernel code
    .quad 0x00cf93000000ffff        # 10 kernel data
    .quad 0x00cffb000000ffff        # 18 user code 32
    .quad 0x00cff3000000ffff        # 20 user data
    .quad 0x00affb000000ffff        # 28 user code
gdtr:
    .word . - gdt - 1
    .long gdt
    .align 16
per_cpu:
    .quad 0, 0

    .bss
    .align 4096
    .skip 16384
stack_top:
