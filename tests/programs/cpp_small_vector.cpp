// A vector with a small buffer of its own (llvm::SmallVector's way), in std::vector.
#include "selfcheck.h"
#include <cstring>
#include <new>
#include <utility>
#include <vector>
template <class T, unsigned N> class small {
    T *data_;
    unsigned size_ = 0, room_ = N;
    alignas(T) unsigned char own_[N * sizeof(T)];
    T *own() { return reinterpret_cast<T *>(own_); }
    bool is_small() const { return data_ == reinterpret_cast<const T *>(own_); }
public:
    small() : data_(own()) {}
    small(const small &o) : data_(own()) { for (auto &v : o) push_back(v); }
    small(small &&o) noexcept : data_(own())
    {
        if (o.is_small()) {
            size_ = o.size_;
            std::memcpy(own_, o.own_, size_ * sizeof(T));
        } else {
            data_ = o.data_;
            size_ = o.size_;
            room_ = o.room_;
            o.data_ = o.own();
            o.room_ = N;
        }
        o.size_ = 0;
    }
    ~small() { if (!is_small()) ::operator delete(data_); }
    void push_back(const T &v)
    {
        T kept = v;
        if (size_ == room_) {
            T *more = static_cast<T *>(::operator new(2 * room_ * sizeof(T)));
            std::memcpy(more, data_, size_ * sizeof(T));
            if (!is_small())
                ::operator delete(data_);
            data_ = more;
            room_ *= 2;
        }
        data_[size_++] = kept;
    }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    unsigned size() const { return size_; }
};
static double f(const double *x, int n)
{
    std::vector<small<double, 4>> all;
    for (int i = 0; i < n; i++) {
        small<double, 4> one;
        for (int k = 0; k <= i + 1; k++)
            one.push_back(x[k % n] * x[i]);
        all.push_back(std::move(one));
    }
    double s = 0;
    for (auto &one : all) {
        double p = 0;
        for (double v : one)
            p += v;
        s += p * p / one.size();
    }
    return s;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
