# A network's loss, an integrator, and a Cholesky solve, as Julia has them: broadcasts, views of whole arrays, loops.

"`(w2 · tanh.(W1 * x + b1) - target)^2`"
function network(x::Vector{Float64}, w1::Matrix{Float64}, b1::Vector{Float64}, w2::Vector{Float64}, target::Float64)
    y = 0.0
    for i in axes(w1, 1)
        s = b1[i]
        for j in axes(w1, 2)
            s += w1[i, j] * x[j]
        end
        y += w2[i] * tanh(s)
    end
    return (y - target)^2
end

slope(y, k, i, n) = y[mod1(i - 1, n)] - 2y[i] + y[mod1(i + 1, n)] - k * y[i]^3

"The energy of a ring of cells after some steps of Heun's method"
function integrate(start::Vector{Float64}, k::Float64, dt::Float64, steps::Int64)
    n = length(start)
    y = copy(start)
    for _ in 1:steps
        a = [slope(y, k, i, n) for i in 1:n]
        mid = y .+ dt .* a
        b = [slope(mid, k, i, n) for i in 1:n]
        y .+= 0.5 .* dt .* (a .+ b)
    end
    return sum(abs2, y)
end

"`b' A^-1 b + log det A` by a Cholesky factorisation of the lower triangle"
function solve(a::Matrix{Float64}, b::Vector{Float64})
    n = length(b)
    l = zeros(n, n)
    y = zeros(n)
    total = 0.0
    for i in 1:n
        for j in 1:i
            s = a[i, j]
            for k in 1:j-1
                s -= l[i, k] * l[j, k]
            end
            l[i, j] = i == j ? sqrt(s) : s / l[j, j]
        end
        s = b[i]
        for k in 1:i-1
            s -= l[i, k] * y[k]
        end
        y[i] = s / l[i, i]
        total += y[i]^2 + 2log(l[i, i])
    end
    return total
end
