// Bodies of what std::pmr has compiled in the libraries: where memory comes from decides which shadow it has. Pools hand
// each request on to the resource they are made of, and keep nothing. All are weak: a program may bring its own.
// CHOSEN: the program sets the default resource; SYNCHRONIZED: it has pools that are locked.
#include <memory_resource>
#include <new>
#define WEAK __attribute__((weak))

namespace {
using std::size_t;
using std::pmr::memory_resource;

struct from_heap final : memory_resource {
    void *do_allocate(size_t bytes, size_t align) override
    {
        return align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? ::operator new(bytes)
                                                         : ::operator new(bytes, std::align_val_t(align));
    }
    void do_deallocate(void *block, size_t, size_t align) override
    {
        if (align <= __STDCPP_DEFAULT_NEW_ALIGNMENT__)
            ::operator delete(block);
        else
            ::operator delete(block, std::align_val_t(align));
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

struct from_nowhere final : memory_resource {
    void *do_allocate(size_t, size_t) override { throw std::bad_alloc(); }
    void do_deallocate(void *, size_t, size_t) override {}
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};

[[clang::no_destroy]] const from_heap heap{}; // constants: what calls them knows them, and they have no shadow
[[clang::no_destroy]] const from_nowhere nowhere{};
memory_resource *given(const memory_resource &constant) { return const_cast<memory_resource *>(&constant); }
#ifdef CHOSEN
memory_resource *chosen = given(heap);
#endif
}

#ifdef _LIBCPP_VERSION
_LIBCPP_BEGIN_NAMESPACE_STD
#else
namespace std {
#endif
namespace pmr {
WEAK memory_resource::~memory_resource() = default;

WEAK memory_resource *new_delete_resource() noexcept { return given(heap); }
WEAK memory_resource *null_memory_resource() noexcept { return given(nowhere); }
#ifdef CHOSEN
WEAK memory_resource *get_default_resource() noexcept { return chosen; }
WEAK memory_resource *set_default_resource(memory_resource *wanted) noexcept
{
    memory_resource *before = chosen;
    chosen = wanted ? wanted : given(heap);
    return before;
}
#else
WEAK memory_resource *get_default_resource() noexcept { return given(heap); }
#endif

#ifdef _LIBCPP_VERSION
// Memory is taken from the end of a block downwards; what a block is ends it.
WEAK void *monotonic_buffer_resource::do_allocate(size_t bytes, size_t align)
{
    auto taken = [&](char *start, char *&end) -> char * {
        if (!start || size_t(end - start) < bytes)
            return nullptr;
        char *from = end - bytes;
        from -= reinterpret_cast<size_t>(from) & (align - 1);
        return from < start ? nullptr : end = from;
    };
    if (char *found = taken(__initial_.__start_, __initial_.__cur_))
        return found;
    if (__chunks_)
        if (char *found = taken(__chunks_->__start_, __chunks_->__cur_))
            return found;
    size_t last = __chunks_ ? __chunks_->__allocation_size()
        : __initial_.__start_ ? size_t(__initial_.__end_ - __initial_.__start_) : __initial_.__size_;
    size_t least = bytes + align + sizeof(__chunk_footer), size = 2 * last;
    size = ((size < least ? least : size) + alignof(__chunk_footer) - 1) & -alignof(__chunk_footer);
    align = align < alignof(__chunk_footer) ? alignof(__chunk_footer) : align;
    char *start = static_cast<char *>(__res_->allocate(size, align));
    auto *footer = reinterpret_cast<__chunk_footer *>(start + size - sizeof(__chunk_footer));
    *footer = {__chunks_, start, reinterpret_cast<char *>(footer), align};
    __chunks_ = footer;
    return taken(start, footer->__cur_);
}

WEAK unsynchronized_pool_resource::unsynchronized_pool_resource(const pool_options &options, memory_resource *upstream)
    : __res_(upstream), __fixed_pools_(nullptr), __num_fixed_pools_(0),
      __options_max_blocks_per_chunk_(uint32_t(options.max_blocks_per_chunk))
{
}
WEAK void unsynchronized_pool_resource::release() {}
WEAK pool_options unsynchronized_pool_resource::options() const
{
    return {__options_max_blocks_per_chunk_, __default_largest_block_size};
}
WEAK void *unsynchronized_pool_resource::do_allocate(size_t bytes, size_t align) { return __res_->allocate(bytes, align); }
WEAK void unsynchronized_pool_resource::do_deallocate(void *block, size_t bytes, size_t align)
{
    __res_->deallocate(block, bytes, align);
}
#ifdef SYNCHRONIZED
WEAK bool synchronized_pool_resource::do_is_equal(const memory_resource &other) const noexcept { return this == &other; }
#endif
#else
// Blocks are on a list of their own, apart from what lies in them.
struct monotonic_buffer_resource::_Chunk {
    _Chunk *next;
    void *block;
    size_t size, align;
};

WEAK monotonic_buffer_resource::~monotonic_buffer_resource() { release(); }

WEAK void monotonic_buffer_resource::_M_new_buffer(size_t bytes, size_t align)
{
    size_t size = bytes < _M_next_bufsiz ? _M_next_bufsiz : bytes;
    auto *chunk = static_cast<_Chunk *>(_M_upstream->allocate(sizeof(_Chunk), alignof(_Chunk)));
    void *block = _M_upstream->allocate(size, align);
    *chunk = {_M_head, block, size, align};
    _M_head = chunk;
    _M_current_buf = block;
    _M_avail = size;
    _M_next_bufsiz += _M_next_bufsiz / 2;
}

WEAK void monotonic_buffer_resource::_M_release_buffers() noexcept
{
    while (_Chunk *chunk = _M_head) {
        _M_head = chunk->next;
        _M_upstream->deallocate(chunk->block, chunk->size, chunk->align);
        _M_upstream->deallocate(chunk, sizeof(_Chunk), alignof(_Chunk));
    }
}

struct __pool_resource::_BigBlock {};
WEAK __pool_resource::__pool_resource(const pool_options &options, memory_resource *upstream)
    : _M_opts(options), _M_unpooled(upstream), _M_npools(0)
{
}
WEAK __pool_resource::~__pool_resource() = default;

WEAK unsynchronized_pool_resource::unsynchronized_pool_resource(const pool_options &options, memory_resource *upstream)
    : _M_impl(options, upstream)
{
}
WEAK unsynchronized_pool_resource::~unsynchronized_pool_resource() = default;
WEAK void unsynchronized_pool_resource::release() {}
WEAK void *unsynchronized_pool_resource::do_allocate(size_t bytes, size_t align)
{
    return upstream_resource()->allocate(bytes, align);
}
WEAK void unsynchronized_pool_resource::do_deallocate(void *block, size_t bytes, size_t align)
{
    upstream_resource()->deallocate(block, bytes, align);
}
#ifdef SYNCHRONIZED
WEAK synchronized_pool_resource::synchronized_pool_resource(const pool_options &options, memory_resource *upstream)
    : _M_impl(options, upstream)
{
}
WEAK synchronized_pool_resource::~synchronized_pool_resource() = default;
WEAK void synchronized_pool_resource::release() {}
WEAK void *synchronized_pool_resource::do_allocate(size_t bytes, size_t align)
{
    return upstream_resource()->allocate(bytes, align);
}
WEAK void synchronized_pool_resource::do_deallocate(void *block, size_t bytes, size_t align)
{
    upstream_resource()->deallocate(block, bytes, align);
}
#endif
#endif
}
#ifdef _LIBCPP_VERSION
_LIBCPP_END_NAMESPACE_STD
#else
}
#endif
