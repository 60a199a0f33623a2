c Two files that share a COMMON block: arrays walked to bounds that are not known, integers that are only handed on.
      double precision function steps(n, x)
      integer n, i, nq, nst, mxhnil, mord
      double precision x(n), el, elco, hold
      common /ls/ el(4), elco(4,3), hold, nq, nst, mxhnil, mord(2)
      nq = 2
      nst = 0
      mord(1) = 5
      do 10 i = 1, n
 10     elco(i,nq) = x(i)**2
      hold = x(1)
      call order(nq)
      steps = 0d0
      do 20 i = 1, nq + 1
 20     steps = steps + el(i)*hold
      if (nst .gt. mord(1)) call told(mxhnil, hold)
      end
      subroutine told(i1, r1)
      integer i1
      double precision r1
      write (6, *) i1, r1
      end
