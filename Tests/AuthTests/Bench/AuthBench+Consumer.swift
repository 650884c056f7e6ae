import AuthCore
import AuthTestKit
import Bus

extension AuthBench {
    /// One more instance, without its sweep.
    func consumer(on bus: (any JobBus & NoticeBus)? = nil, claimIdle: Duration) -> RequestConsumer {
        let handler = RequestHandler(
            registration: Registration(
                pool: self.pool, directory: self.directory, operators: self.operators, bus: self.bus, clock: self.clock,
                logger: quiet),
            sessions: SessionService(pool: self.pool, directory: self.directory, clock: self.clock),
            leaving: Leaving(
                pool: self.pool, eraser: Eraser(pool: self.pool, bus: self.bus, clock: self.clock, logger: quiet),
                operators: self.operators, bus: self.bus, clock: self.clock, logger: quiet),
            guests: GuestProving(
                GuestTable(self.pool), operators: self.operators, bus: self.bus, clock: self.clock, logger: quiet),
            operators: self.operators, directory: self.directory, logger: quiet)
        return RequestConsumer(
            bus: bus ?? self.bus, handler: handler, instance: 9, claimIdle: claimIdle, logger: quiet)
    }
}
