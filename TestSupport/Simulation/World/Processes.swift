import AuthCore
import Bus
import ClusterContract
import Contract
import ConversationsCore
import Logging
import NIOCore
import Participants
import RoomsCore
import Store
import Telemetry

@testable import GatewayCore
@testable import PushCore
@testable import RouterCore

/// A process of a gateway: the real one, on a simulated loop.
final class GatewayHost {
    let host: Host
    let loop = SimulatedLoop()
    var lines: [Line] = []
    private let gateway: Gateway
    private var lastConnection: UInt64 = 0

    init(_ name: String, in world: World) {
        let host = Host(name)
        let (loop, bus) = (self.loop, world.bus(for: host, loop: self.loop))
        self.host = host
        self.gateway = Machine.current.acting(for: host) {
            Gateway(
                // No client exceeds a rate here.
                configuration: GatewayConfiguration(host: "", port: 0, rates: RateTable(scale: 1_000)), bus: bus,
                eventLoop: loop,
                logger: world.logger(host))
        }
        host.atDeath { [unowned self] in for line in self.lines { line.gatewayDied() } }
        let gateway = self.gateway
        host.run {
            let channels = [Keyspace.node(gateway.node).name, Keyspace.nodes.name, gateway.feedChannel]
            try? await bus.subscribe(to: channels) { event in
                gateway.assumeIsolated { $0.heard(event) }
            }
        }
        host.run { try? await gateway.tick() }
    }

    func makeHandler() -> SocketHandler {
        self.lastConnection += 1
        return SocketHandler(gateway: self.gateway, id: ConnectionID(value: self.lastConnection))
    }

    /// A load balancer sends no client to a gateway that cannot receive answers.
    var isReady: Bool {
        guard !self.host.isDead, self.host.frozenUntil <= Machine.current.now else { return false }
        var isSubscribed = false
        self.loop.perform { isSubscribed = self.gateway.assumeIsolated { $0.isSubscribed } }
        return isSubscribed
    }
}

/// The processes beside gateways. A started service runs until its host dies.
enum Service: CaseIterable {
    case router, auth, push, calls

    func start(_ host: Host, in world: World) {
        let bus = world.bus(for: host)
        let logger = world.logger(host)
        switch self {
        case .router:
            let store = world.store
            let router = Machine.current.acting(for: host) {
                Router(
                    configuration: RouterConfiguration(
                        pendingTTL: world.pendingTTL, jobsPerPartitionMax: world.jobsPerPartitionMax,
                        pagesPerReadMax: min(world.jobsPerPartitionMax, RouterLimits.pagesPerReadMax),
                        wakesWaitingMax: world.jobsPerPartitionMax == 1 ? 1 : RouterLimits.wakesWaitingMax), bus: bus,
                    store: PostgresConnection(store, executor: world.databaseTurns(), logger: logger), logger: logger)
            }
            let (pool, presencePool) = (world.pool(1, logger), world.pool(1, logger))
            host.run { try? await router.run() }
            host.run { try? await router.sweep(pool) }
            host.run { try? await router.clearSegments(pool) }
            host.run { try? await router.tellPresence(presencePool) }
            host.atDeath {
                pool.close()
                presencePool.close()
            }
        case .auth:
            let pool = world.pool(4, logger)
            let clock = ServiceClock { .now }
            let directory = SessionDirectory(SessionTable(pool), keys: bus, clock: clock, logger: logger)
            let handler = RequestHandler(
                registration: Registration(
                    pool: pool, directory: directory, operators: NoOperators(), bus: bus, clock: clock, logger: logger),
                sessions: SessionService(pool: pool, directory: directory, clock: clock),
                leaving: Leaving(
                    pool: pool, eraser: Eraser(pool: pool, bus: bus, clock: clock, logger: logger),
                    operators: NoOperators(), bus: bus, clock: clock, logger: logger),
                guests: GuestProving(
                    GuestTable(pool), operators: NoOperators(), bus: bus, clock: clock, logger: logger),
                operators: NoOperators(), directory: directory, logger: logger)
            let consumer = RequestConsumer(bus: bus, handler: handler, instance: 1, logger: logger)
            host.run { await consumer.run() }
            host.atDeath { pool.close() }
        case .push:
            let pool = world.pool(2, logger)
            let provider = SimulatedProvider(world)
            let push = Machine.current.acting(for: host) {
                PushService(
                    instance: 1, bus: bus, pool: pool, providers: PushProviders(apns: provider, standIn: provider),
                    clock: ServiceClock { .now }, logger: logger)
            }
            host.run { await push.mail.run() }
            host.run { await push.reminders.run() }
            host.atDeath { pool.close() }
        case .calls:
            // Calls are not simulated, only live conversations and rooms.
            let live = Machine.current.acting(for: host) {
                LiveCoordinator(bus: bus, store: world.connection(logger), logger: logger)
            }
            let rooms = Machine.current.acting(for: host) {
                RoomCoordinator(
                    bus: bus, store: world.connection(logger),
                    turn: TurnConfiguration(urls: ["turn:relay.simulated"], secret: Secret("simulated")),
                    logger: logger)
            }
            host.run { try? await live.run() }
            host.run { try? await rooms.run() }
        }
    }
}

/// Operators without reports and bans.
private struct NoOperators: OperatorRecords {
    func forget(_ principal: PrincipalID, in transaction: borrowing Transaction) async throws(StoreError) {}

    func addInvitation(
        _ tokenHash: Bytes32, for life: Duration, by inviter: WhisperID?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Timestamp? { nil }

    func revokeInvitation(
        _ tokenHash: Bytes32, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError) {}

    func file(
        _ report: Report, of session: Session, question: AnswerAddress
    ) async throws(StoreError) -> Answer {
        throw .unavailable
    }

    func recordRefusedLogin(of principal: PrincipalID) async throws(StoreError) {}

    func banEnd(of identity: WhisperID) async throws(StoreError) -> Timestamp? { nil }
}

/// The push provider of all phones. It is reachable or not, and never gives a false answer.
private struct SimulatedProvider: PushProvider, @unchecked Sendable {
    let name = PushProviderName.apns
    private unowned let world: World

    init(_ world: World) { self.world = world }

    func send(_ push: Push, to token: String, isVoIP: Bool) async -> PushAnswer {
        let machine = Machine.current
        let host = machine.host
        try? await Task.sleep(for: .milliseconds(Int64.random(in: 20...400, using: &machine.random)))
        guard host?.isDead != true else { return .later(.unavailable, after: nil) }
        if self.world.isProviderAway() { return .later(.unavailable, after: nil) }
        self.world.pushed(token, push.wakeID)
        return .sent
    }
}
