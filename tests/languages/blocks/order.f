      subroutine order(l)
      integer l, i, is, lens
      double precision rs, rsav(17)
      integer isav(5)
      common /ls/ rs(17), is(5)
      data lens/5/
      do 10 i = 1, l + 1
 10     rs(i) = rs(i + 8)*rs(17)
      do 20 i = 1, 17
 20     rsav(i) = rs(i)
      do 30 i = 1, lens
 30     isav(i) = is(i)
      rs(17) = rsav(17) + 1
      call counted
      do 40 i = 1, 16
 40     rs(i) = rsav(i)
      do 50 i = 1, lens
 50     is(i) = isav(i)
      end
      subroutine counted
      integer i, n
      double precision r
      common /ls/ r(17), n(5)
      do 10 i = 1, 5
 10     n(i) = -1
      end
      block data
      integer nq, nst, mxhnil, mord
      double precision el, elco, hold
      common /ls/ el(4), elco(4,3), hold, nq, nst, mxhnil, mord(2)
      data mxhnil/10/
      end
