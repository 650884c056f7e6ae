package import ClusterContract
import Contract

/// Everything a gateway is told from outside.
package struct GatewayConfiguration: Sendable {
    package var host: String
    /// 0 lets the kernel choose.
    package var port: Int
    package var rates: RateTable
    package var rateClasses: RateClasses
    /// Open connections of one address to this gateway, before scaling.
    package var openConnectionsMax: Int
    /// `GatewayLimits.heldBytesMax`, by default.
    package var heldBytesMax: Int
    /// Addresses whose `X-Forwarded-For` is believed.
    package var trustedProxies: TrustedProxies

    package init(
        host: String, port: Int, rates: RateTable = RateTable(), rateClasses: RateClasses = .usual,
        openConnectionsMax: Int = GatewayLimits.openConnectionsMax,
        heldBytesMax: Int = GatewayLimits.heldBytesMax, trustedProxies: TrustedProxies = []
    ) {
        self.host = host
        self.port = port
        self.rates = rates
        self.rateClasses = rateClasses
        self.openConnectionsMax = openConnectionsMax
        self.heldBytesMax = heldBytesMax
        self.trustedProxies = trustedProxies
    }
}

/// Bounds of one gateway process.
package enum GatewayLimits {
    /// Open connections of one address to one gateway, unless its operator says otherwise.
    package static let openConnectionsMax = Limits.connectionsPerAddressMax
    /// Bytes waiting for one client that does not read before it is closed (4010). Two full frames and a page.
    package static let outboundBytesMax = 4 * Limits.frameBytesMax
    /// How long a closed connection may take to say goodbye before its socket goes.
    package static let closeLinger = Duration.seconds(5)
    /// How long a client may take to read the messages of `GET /mail`: the most there are, at 10 KB in a second.
    package static let mailLinger = Duration.seconds(30)
    /// Bytes read from a client after the server's close frame, before its socket is closed. A frame that the client
    /// had begun to send precedes its answer: after 1009, the rest of a frame of any size.
    package static let closingBytesMax = 16 << 20
    /// Requests that fail here and get a line in the log each second. The others are counted in one line.
    package static let failureLinesPerSecond = 100
    /// From the TCP connection to the complete upgrade request, or to the answer to `GET /mail`.
    package static let handshakeMax = Duration.seconds(10)
    /// Requests to other services that have no answer yet. Above it clients get INTERNAL_ERROR at once.
    package static let pendingRequestsMax = 65_536
    /// Frames of one connection that wait until its session is known, or uses of a rate are leased.
    package static let framesWaitingMax = 256
    /// Bytes of them.
    package static let bytesWaitingMax = 2 * Limits.frameBytesMax
    /// The part of a rate's burst that a gateway leases at once, as a divisor. A larger chunk costs fewer requests, and
    /// keeps more from other gateways.
    package static let leasesPerBurst = 12.0
    /// How long leased uses may be given out. A longer life costs quiet identities fewer requests. A shorter one
    /// leaves less behind when an identity moves to another gateway.
    package static let leaseLife = Duration.seconds(60)
    /// How long a gateway counts by itself before it asks a Redis again that has not answered.
    package static let localCountingFor = Duration.seconds(1)
    /// Milliseconds that Redis may forget a count too early without having been emptied: its clock may be corrected.
    package static let restDoubtMilliseconds = 1_000.0
    /// Rates counted at a time: one for each rate that an identity or guest uses, and one for each address. Beyond it some are
    /// forgotten, and only the count in Redis holds for them.
    package static let principalRatesCountedMax = 131_072
    package static let addressRatesCountedMax = 65_536
    /// Seconds between two searches for rates at rest.
    package static let ratesLookSeconds = 16
    /// The least pause between two such searches when too many rates are counted, and between two restorations.
    package static let ratesLookPause = Duration.seconds(1)
    /// Counts lost by Redis that are restored in one second.
    package static let ratesRestoredAtOnceMax = 1_024
    /// Connections that ended while frames of theirs waited for a rate. These frames are still handled, up to
    /// `heldBytesUncounted` for each connection.
    package static let endedConnectionsMax = 1_024
    /// Conversations whose shares are notified when a connection ends. Shares of other conversations learn it from
    /// reports.
    package static let conversationsRememberedMax = 32
    /// Tokens and proofs of one address that wait until its rate of unknown tokens is known.
    package static let lookUpsWaitingMax = 1_024
    /// Tokens of the connections that ended last. They are looked up whatever their address has tried (`KnownTokens`).
    package static let knownTokensMax = 32_768
    /// Bytes kept for all connections together that each keep more than `heldBytesUncounted`: unsent bytes, incomplete
    /// messages, waiting frames. Beyond it, connections without a session are closed first, then the largest (4010).
    package static let heldBytesMax = 128 << 20
    package static let heldBytesUncounted = 16 << 10
    /// Seconds between two looks whether a guest's token still lives: the Notice of its end may be lost.
    package static let guestCheckSeconds = 5
    /// From one turn of the event loop to the next, while several frames and Notices come within it.
    package static let turnInterval = Duration.microseconds(750)
    /// Frames and Notices expected within `turnInterval` for which a turn waits.
    package static let turnEventsWorthWaiting = 1.5
    /// Over how long their rate is measured.
    package static let turnRateWindow = Duration.milliseconds(100)
    /// How long a receipt may wait for others before it is appended, and how many may wait.
    package static let receiptsHeldFor = Duration.milliseconds(50)
    package static let receiptsHeldMax = 64
    /// Receipts expected within `receiptsHeldFor` for which one is held, and over how long their rate is measured.
    package static let receiptsWorthHolding = 2.0
    package static let receiptRateWindow = Duration.milliseconds(200)
    /// How long a whisperer's line may wait for others before it is appended, and how many may wait.
    package static let linesHeldFor = Duration.milliseconds(50)
    package static let linesHeldMax = 64
    /// Lines expected within `linesHeldFor` for which one is held, and over how long their rate is measured.
    package static let linesWorthHolding = 2.0
    package static let lineRateWindow = Duration.milliseconds(200)
    /// Jobs waiting in one partition's stream before the gateway takes no more for it.
    package static let partitionDepthMax = 20_000
    /// A bind that no router has confirmed is announced again after this.
    package static let announceAgainAfter = Duration.seconds(3)
    /// Departures kept while the bus is away, to be told when it is back. Routers learn of further ones by
    /// reconciliation.
    package static let departuresUntoldMax = 65_536
    /// Departures told in one second.
    package static let departuresAtOnceMax = 4_096
    /// Connections announced in one Job, and in one turn after an outage.
    package static let announcementsPerJobMax = 256
    /// Confirmed outcomes and group events that are remembered for one to two times so long, and how many of each: until a router
    /// has deleted them, they may come again.
    package static let confirmedRememberedSeconds = 10
    package static let confirmedRememberedMax = 65_536
    /// The longest payload of a group event, in bytes, rounded up: 256 members, and as many added or removed. So much less
    /// than `Limits.groupEventsBytesMax` tells that a router may have kept one back.
    package static let groupEventBytesMax = 32_768
    /// How long presence outlives its last refresh, and how often it is refreshed.
    package static let presenceTTL = Duration.seconds(180)
    package static let presenceRefresh = Duration.seconds(60)
    /// How long the gateway's word that it lives outlives its last refresh, and how often it is refreshed.
    package static let aliveTTL = Duration.seconds(15)
    package static let aliveRefreshSeconds = 5
    /// Connections closed in one step of a drain, and the pause between steps.
    package static let drainBatch = 200
    package static let drainPause = Duration.milliseconds(50)
    /// Spread of the reconnect delay that drained clients are told: so long that no more than so many come back in a second,
    /// within these bounds.
    package static let drainReconnectsPerSecond: Int64 = 1_000
    package static let drainJitterMinMilliseconds: Int64 = 200
    package static let drainJitterMaxMilliseconds: Int64 = 5_000
    /// Time that a gateway has to drain: as many clients as it has files for leave it in 16 s, after the answers under way.
    /// The rest is for those whose machine is busy.
    package static let drainMax = Duration.seconds(60)
    /// How long a drain waits for answers under way.
    package static let drainAnswersMax = Duration.seconds(5)
    /// Pending TCP connections of the listener.
    package static let listenBacklog: Int32 = 4_096
}
