"""How functions of the C library that are known by their names are called: what they take and return, in letters.

A program may have a function of its own by such a name, or call one as if it were of another type; what is known of
the name says nothing of that call. (What has a derivative rule has its type from the rule: `analysis.call_shapes`.)

    i  an integer of any width        d  double         p  a pointer
    f  float                          l  long double    v  nothing
    .  any more arguments
"""

from __future__ import annotations

_GROUPS = {
    # the heap
    "pi": "malloc valloc",
    "pii": "calloc aligned_alloc memalign",
    "ppi": "realloc strchr strrchr strndup __strndup",
    "ppii": "reallocarray memchr memrchr memset",
    "ipii": "posix_memalign fseek fseeko __overflow",
    "vp": "free cfree perror rewind clearerr",
    # output, and what formats it; input
    "ip.": "printf scanf __isoc99_scanf __isoc23_scanf",
    "ipp": "vprintf fputs stat lstat rename gettimeofday vscanf strcmp strcasecmp strcoll strspn strcspn",
    "ipp.": "fprintf sprintf fscanf sscanf __isoc99_fscanf __isoc99_sscanf __isoc23_fscanf __isoc23_sscanf",
    "ippp": "vfprintf vsprintf vfscanf vsscanf getline",
    "iip.": "dprintf __printf_chk",
    "ipip.": "snprintf __fprintf_chk",
    "ipipp": "vsnprintf __vfprintf_chk",
    "ipiip.": "__sprintf_chk",
    "ipiiip.": "__snprintf_chk",
    "iipp": "__vprintf_chk",
    "iip": "fputc putc _IO_putc ungetc fstat clock_gettime",
    "ipiip": "fwrite fread fread_unlocked",
    "ip": "fflush fclose puts ftell ftello feof ferror fileno fgetc getc rmdir remove unlink time rand_r "
    "nrand48 strlen atoi atol atoll atexit malloc_usable_size",
    # files, time, random numbers, the environment
    "ippii": "setvbuf",
    "ppp": "fopen strstr strpbrk strcpy strcat stpcpy strtok",
    "p": "tmpfile __ctype_b_loc __errno_location",
    "i": "getchar clock rand random lrand48 mrand48 getpid sched_yield fegetround",
    "ii": "putchar putchar_unlocked isatty usleep sleep isalpha isdigit isspace isupper islower isalnum "
    "ispunct isxdigit tolower toupper abs labs llabs feclearexcept feraiseexcept fetestexcept",
    "ipi": "access mkdir strnlen",
    "d": "drand48",
    "vi": "srand srandom srand48 exit _exit _Exit quick_exit",
    "dp": "erand48 atof nan",
    "fp": "nanf",
    "lp": "nanl",
    "pp": "getenv strdup __strdup",
    "v": "abort",
    "ppip": "fgets fgets_unlocked",
    "iipi": "read",
    "iipii": "pread",
    "ippip": "getdelim",
    # text and bytes
    "dpp": "strtod",
    "fpp": "strtof",
    "lpp": "strtold",
    "ippi": "strtol strtoll strtoul strtoull strncmp strncasecmp memcmp bcmp strlcpy strlcat",
    "pppi": "strncpy strncat stpncpy __strcpy_chk __strcat_chk memcpy memmove mempcpy",
    "pppii": "__strncpy_chk __strncat_chk __memcpy_chk __memmove_chk __mempcpy_chk",
    "ppiii": "__memset_chk",
    # classification
    "id": "isnan __isnan isinf __isinf finite __finite __fpclassify __signbit",
    "if": "isnanf __isnanf isinff __isinff finitef __finitef __fpclassifyf __signbitf",
    "il": "isnanl __isnanl isinfl __isinfl finitel __finitel __fpclassifyl __signbitl",
    # sorted, and looked for
    "vpiip": "qsort",
    "vpiipp": "qsort_r",
    "pppiip": "bsearch",
    "vppi": "bcopy",
    "vpi": "bzero",
    "pppp": "strtok_r __strtok_r",
}  # fmt: skip
PROTOTYPES: dict[str, str] = {name: letters for letters, names in _GROUPS.items() for name in names.split()}
"""By name: the letter of the result, and those of the parameters."""
