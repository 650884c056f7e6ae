package import ClusterContract
package import Contract
package import Metrics

// A handle is made once, when its owner is made, and then costs one call and one atomic addition. Make them after the
// metrics backend is installed (`runService` does that first): a handle made earlier counts into nothing.

extension Counter {
    package convenience init(_ name: MetricName) { self.init(label: name.rawValue) }
}

extension Meter {
    /// A gauge that is set, or moved up and down.
    package convenience init(_ name: MetricName) { self.init(label: name.rawValue) }
}

extension Recorder {
    /// A histogram of plain counts.
    package convenience init(_ name: MetricName) { self.init(label: name.rawValue, dimensions: [], aggregate: true) }
}

extension Timer {
    /// A histogram of durations: `timer.record(duration:)`.
    package convenience init(_ name: MetricName) { self.init(label: name.rawValue) }
}

/// One counter for each value of a closed set. Finding one costs a hash: keep it in hand where it is hot.
package struct CounterFamily<Key: Hashable & CaseIterable & Sendable>: Sendable {
    private let counters: [Key: Counter]

    /// - Parameter fixed: labels that are the same for the whole family.
    package init(
        _ name: MetricName, by label: MetricLabel, fixed: [MetricLabel: String] = [:], text: (Key) -> String
    ) {
        let common = fixed.map { ($0.key.rawValue, $0.value) }
        self.counters = Dictionary(
            uniqueKeysWithValues: Key.allCases.map { key in
                (key, Counter(label: name.rawValue, dimensions: common + [(label.rawValue, text(key))]))
            })
    }

    package subscript(key: Key) -> Counter { self.counters[key]! }
}

extension CounterFamily where Key: RawRepresentable, Key.RawValue == String {
    package init(_ name: MetricName, by label: MetricLabel, fixed: [MetricLabel: String] = [:]) {
        self.init(name, by: label, fixed: fixed, text: \.rawValue)
    }
}

/// `whisper_errors_total`: what clients were answered.
package struct ErrorMetrics: Sendable {
    private let byCode = CounterFamily<ErrorCode>(.errors, by: .code)

    package init() {}
    package func answered(_ code: ErrorCode) { self.byCode[code].increment() }
}

/// The handling of a packet of content. The value of the `direction` label.
package enum LivePacketDirection: String, CaseIterable, Sendable {
    /// From a whisperer.
    case `in`
    /// To a listener.
    case out
    /// Left out for a listener that is behind: it gets a snapshot in its place.
    case skipped
    /// Not passed on to anybody.
    case dropped
}

/// `whisper_live_packets_total`, each counter at hand: one counts for each listener.
package struct LivePacketMetrics: Sendable {
    package let `in`, out, skipped, dropped: Counter

    package init() {
        let family = CounterFamily<LivePacketDirection>(.livePackets, by: .direction)
        self.in = family[.in]
        self.out = family[.out]
        self.skipped = family[.skipped]
        self.dropped = family[.dropped]
    }
}

/// The source of packets that a listener misses. The value of the `source` label.
package enum LiveResyncSource: String, CaseIterable, Sendable {
    case cache, whisperer
}

package struct GatewayMetrics: Sendable {
    package let connections = Meter(.wsConnectionsActive)
    package let guests = Meter(.guestsActive)
    package let framesIn = Counter(.wsFramesIn)
    package let framesOut = Counter(.wsFramesOut)
    package let bytesIn = Counter(.wsBytesIn)
    package let bytesOut = Counter(.wsBytesOut)
    package let closed = CounterFamily<CloseCode>(.wsClosed, by: .code) { "\($0.rawValue)" }
    package let slowConsumersClosed = Counter(.slowConsumersClosed)
    package let framesInFlight = Meter(.framesInFlight)
    package let liveStreams = Meter(.liveStreamsActive)
    package let liveListeners = Meter(.liveListenersActive)
    package let livePackets = LivePacketMetrics()
    package let liveFanOut = Timer(.liveFanOutSeconds)
    package let liveResyncs = CounterFamily<LiveResyncSource>(.liveResyncs, by: .source)
    package let errors = ErrorMetrics()

    package init() {}
}

/// Why a message was refused that was well signed. The value of the `reason` label.
package enum MailRefusal: String, CaseIterable, Sendable {
    /// The recipient's mailbox is full.
    case mailbox
    /// The recipient's mailbox holds as much as it may of this sender, who is not its peer.
    case stranger
    /// The recipient's mailbox holds as much as it may of all senders together who are not its peers.
    case strangers
    /// All senders without any peer have as much waiting as they may, in all mailboxes.
    case everyStranger = "every_stranger"
    /// The Job named another key than the sender's. A gateway is broken, or in somebody else's hands.
    case key
}

package struct RouterMetrics: Sendable {
    package let accepted = Counter(.messagesAccepted)
    package let repeated = Counter(.messagesRepeated)
    package let expired = Counter(.messagesExpired)
    package let redeliveries = Counter(.redeliveries)
    package let receiptsIgnored = Counter(.receiptsIgnored)
    package let presenceUpdates = Counter(.presenceUpdates)
    package let batchJobs = Recorder(.batchJobs)
    package let commitSeconds = Timer(.commitSeconds)
    package let routingLatency = Timer(.routingLatencySeconds)
    package let partitionsLeased = Meter(.partitionsLeased)
    package let partitions = Partition.all.map(PartitionMetrics.init)
    package let busDepth = Meter(.busDepth)
    package let groupQuestionsWaiting = Meter(.groupQuestionsWaiting)
    package let pendingMessages = Meter(.pendingMessages)
    package let pendingOldestSeconds = Meter(.pendingOldestSeconds)
    package let ledgerDaysAhead = Meter(.ledgerDaysAhead)
    package let refused = CounterFamily<MailRefusal>(.mailRefused, by: .reason)
    package let mailboxLargestMessages = Meter(.mailboxLargestMessages)
    package let mailboxLargestBytes = Meter(.mailboxLargestBytes)
    package let strangers = StrangerMeter(.mail)

    package init() {}
}

/// A store that identities without any peer fill together (contract §13b). The value of the `store` label.
package enum StrangerStore: String, CaseIterable, Sendable {
    case profiles, backups, evidence, guests, attachments, mail, lines, shares
}

package struct StrangerMeter: Sendable {
    private let bytes: Meter
    private let bytesMax: Meter

    package init(_ store: StrangerStore) {
        let label = [(MetricLabel.store.rawValue, store.rawValue)]
        self.bytes = Meter(label: MetricName.strangersBytes.rawValue, dimensions: label)
        self.bytesMax = Meter(label: MetricName.strangersBytesMax.rawValue, dimensions: label)
    }

    package func set(_ bytes: Int64, of bytesMax: Int) {
        self.bytes.set(bytes)
        self.bytesMax.set(bytesMax)
    }
}

/// Which partition is hot.
package struct PartitionMetrics: Sendable {
    package let jobs: Counter
    package let depth: Meter

    package init(_ partition: Partition) {
        let label = [(MetricLabel.partition.rawValue, "\(partition.index)")]
        self.jobs = Counter(label: MetricName.partitionJobs.rawValue, dimensions: label)
        self.depth = Meter(label: MetricName.partitionDepth.rawValue, dimensions: label)
    }
}

/// A question of a gateway to auth. The value of the `kind` label.
package enum AuthRequestKind: String, CaseIterable, Sendable {
    /// A session that the gateway does not know.
    case session
    case sessionUsed = "session_used"
    /// A guest that the gateway does not know.
    case guest
    case guestMoved = "guest_moved"
    case registerBegin = "register_begin"
    case registerProof = "register_proof"
    case guestBegin = "guest_begin"
    case guestProof = "guest_proof"
    case guestForget = "guest_forget"
    case sessionRefresh = "session_refresh"
    case logout
    case accountDeleteBegin = "account_delete_begin"
    case accountDelete = "account_delete"
    case updateTokens = "update_tokens"
    case report
    /// A frame that this release does not know.
    case other
}

/// The result of a proof with a valid signature: the value of the label `result`.
package enum RegistrationResult: String, CaseIterable, Sendable {
    /// The keys have become an identity.
    case new
    /// The identity was there before.
    case known
    /// New keys, and nobody new may register.
    case closed
    /// New keys without an invitation, where one is needed.
    case needed
    /// New keys with an invitation that does not hold.
    case invalid
    /// The keys of an identity that has been erased.
    case erased
}

/// The one who wished an erasure or an export. The value of the label `by`.
package enum ErasureOrigin: String, CaseIterable, Sendable {
    case person, `operator`, guest, retention
}

package enum ExportOrigin: String, CaseIterable, Sendable {
    case person, `operator`
}

package struct ErasureMetrics: Sendable {
    package let begun = CounterFamily<ErasureOrigin>(.erasures, by: .by)
    package let open = Meter(.erasuresOpen)
    package let oldestSeconds = Meter(.erasureOldestSeconds)

    package init() {}
}

package struct InactivityMetrics: Sendable {
    package let identities = Meter(.identitiesInactive)

    package init() {}
}

package struct ExportMetrics: Sendable {
    package let given = CounterFamily<ExportOrigin>(.exports, by: .by)

    package init() {}
}

package struct ErasedMetrics: Sendable {
    package let rows = Counter(.erasedRows)

    package init() {}
}

package struct RegistrationMetrics: Sendable {
    private let byClient: [ClientKind?: CounterFamily<RegistrationResult>]

    package init() {
        self.byClient = Dictionary(
            uniqueKeysWithValues: (ClientKind.allCases + [nil]).map {
                ($0, CounterFamily(.registrations, by: .result, fixed: [.client: $0?.rawValue ?? "unknown"]))
            })
    }

    /// - Parameter client: `nil` if it has not said what it is.
    package func proven(_ result: RegistrationResult, by client: ClientKind?) {
        self.byClient[client]?[result].increment()
    }
}

package struct AuthMetrics: Sendable {
    package let requests = CounterFamily<AuthRequestKind>(.authRequests, by: .kind)
    package let seconds = Timer(.authSeconds)
    package let sessionsLive = Meter(.sessionsLive)
    package let registrationOpen = Meter(.registrationOpen)
    package let busDepth = Meter(.busDepth)

    package init() {}
}

/// The result of a request for a document of a profile. The value of the `result` label.
package enum ProfileDocumentResult: String, CaseIterable, Sendable {
    case read, written
    /// The client has this version already.
    case unchanged
    /// Another device has written meanwhile.
    case lostRace = "lost_race"
    case tooLarge = "too_large"
    /// There is no such document, or the caller is no member.
    case missing
    /// Malformed, without a session, or too often.
    case refused
    /// The fault is ours.
    case failed

    /// - Parameter status: of HTTP, 400 at least.
    package init(refusedWith status: Int) {
        self =
            switch status {
            case 404: .missing
            case 412: .lostRace
            case 413: .tooLarge
            case 500...: .failed
            default: .refused
            }
    }
}

package struct ProfileMetrics: Sendable {
    package let documents = CounterFamily<ProfileDocumentResult>(.profileDocuments, by: .result)

    package init() {}
}

/// Auth's metrics for operators.
package struct OperatorMetrics: Sendable {
    package let databaseBytes = Meter(.databaseBytes)
    package let databaseBytesMax = Meter(.databaseBytesMax)
    package let certificateEnd = Meter(.certificateEnd)

    package init() {}
}

/// Identities by class of rates (contract §20.7).
package struct RateClassMetrics: Sendable {
    /// `nil`: the settings have lost the class.
    private let members: [RateClassName?: Meter]

    package init(_ classes: [RateClassName]) {
        self.members = Dictionary(
            uniqueKeysWithValues: (classes + [nil]).map { name in
                let label = (MetricLabel.class.rawValue, name?.description ?? RateClassName.none)
                return (name, Meter(label: MetricName.rateClassMembers.rawValue, dimensions: [label]))
            })
    }

    package func set(_ members: [RateClassName?]) {
        for (name, meter) in self.members { meter.set(members.count { $0 == name }) }
    }
}

/// The public HTTP of one process.
package struct HTTPMetrics: Sendable {
    private enum Status: String, CaseIterable, Sendable {
        case success = "2xx"
        case redirection = "3xx"
        case client = "4xx"
        case server = "5xx"

        init(code: Int) {
            switch code {
            case ..<300: self = .success
            case ..<400: self = .redirection
            case ..<500: self = .client
            default: self = .server
            }
        }
    }

    private let requests = CounterFamily<Status>(.httpRequests, by: .status)
    private let seconds = Timer(.httpSeconds)

    package init() {}

    package func answered(_ status: Int, after duration: Duration) {
        self.requests[Status(code: status)].increment()
        self.seconds.record(duration: duration)
    }
}

package struct BusMetrics: Sendable {
    package let commands = Counter(.busCommands)
    package let commandsInFlight = Meter(.busCommandsInFlight)
    package let reconnects = Counter(.busReconnects)

    package init() {}
}

package struct StoreMetrics: Sendable {
    package let connectionsBusy = Meter(.storeConnectionsBusy)
    package let waitSeconds = Timer(.storeWaitSeconds)
    package let reconnects = Counter(.storeReconnects)

    package init() {}
}

/// Through what a wake-up leaves the cluster. The value of the `provider` label.
package enum PushProviderName: String, CaseIterable, Sendable {
    case apns, fcm, webpush
    /// No provider: a line in the log instead.
    case log
}

/// The result of one try. The value of the `result` label, and shown to operators.
package enum PushResult: String, CaseIterable, Sendable {
    case sent
    /// The provider knows the token no more; it is taken from its device.
    case tokenGone = "token_gone"
    /// The provider refuses what we sent: a bug, or a wrong setting.
    case refused
    /// The provider does not accept our key.
    case credentials
    /// The provider asks to slow down, or has as many pushes under way as it may.
    case throttled
    /// The provider has a fault of its own, cannot be reached, or did not answer in time.
    case unavailable
    /// The call rang no longer when its wake-up came to be sent.
    case late
    /// Nobody to send to: the identity has shown no token. Counted under the provider `log`.
    case noToken = "no_token"
}

package struct PushMetrics: Sendable {
    private let byProvider: [PushProviderName: CounterFamily<PushResult>]
    package let latency = Timer(.pushLatencySeconds)
    package let coalesced = Counter(.wakesCoalesced)
    package let retries = Counter(.pushRetries)
    package let deadLetters = Counter(.pushDeadLetters)
    package let reminders = Counter(.pushReminders)
    package let woke = Counter(.pushWoke)
    package let wokeSeconds = Timer(.pushWokeSeconds)
    package let jobsInFlight = Meter(.jobsInFlight)
    package let wakesWaiting = Meter(.busDepth)
    package let callWakesWaiting = Meter(.callWakesWaiting)

    package init() {
        self.byProvider = Dictionary(
            uniqueKeysWithValues: PushProviderName.allCases.map {
                ($0, CounterFamily(.push, by: .result, fixed: [.provider: $0.rawValue]))
            })
    }

    package func tried(_ provider: PushProviderName, _ result: PushResult) {
        self.byProvider[provider]?[result].increment()
    }
}

/// The result of a call.
package enum CallResult: String, CaseIterable, Sendable {
    case answered, declined, busy, timeout, failed, cancelled
}

package struct CallMetrics: Sendable {
    package let setups = CounterFamily<CallResult>(.callSetup, by: .result)
    package let ringSeconds = Timer(.callRingSeconds)
    package let active = Meter(.callsActive)
    package let candidatesDropped = Counter(.callCandidatesDropped)
    package let sharesLeased = Meter(.callSharesLeased)
    package let busDepth = Meter(.busDepth)
    package let commitSeconds = Timer(.commitSeconds)
    package let batchJobs = Recorder(.batchJobs)

    package init() {}
}

/// The answer to a knock on a live conversation.
package enum KnockResult: String, CaseIterable, Sendable {
    case admitted, waiting, refused
}

package struct LiveMetrics: Sendable {
    package let knocks = CounterFamily<KnockResult>(.liveKnocks, by: .result)
    package let linesStored = Counter(.liveLinesStored)

    package init() {}
}

/// The answer to a join of a room.
package enum RoomJoinResult: String, CaseIterable, Sendable {
    case joined, notFound, refused
}

package struct RoomMetrics: Sendable {
    package let active = Meter(.roomsActive)
    package let participants = Meter(.roomParticipantsActive)
    package let joins = CounterFamily<RoomJoinResult>(.roomJoins, by: .result)
    package let signals = CounterFamily<RoomSignalKind>(.roomSignals, by: .kind)
    package let misses = Counter(.roomCodeMisses)

    package init() {}
}

package struct AttachmentMetrics: Sendable {
    /// The purpose of a URL.
    package enum Kind: String, CaseIterable, Sendable {
        case upload, part, download
    }

    package let presigns = CounterFamily<Kind>(.attachmentPresigns, by: .kind)
    package let bytesPresigned = Counter(.attachmentBytesPresigned)
    package let quotaRefusals = Counter(.attachmentQuotaRefusals)
    package let examined = Counter(.attachmentsExamined)
    package let deleted = Counter(.attachmentsDeleted)
    package let bytesFreed = Counter(.attachmentBytesFreed)
    package let collectorFailures = Counter(.collectorFailures)
    package let collectorSucceededAt = Meter(.collectorSucceededAt)
    package let stored = Meter(.attachmentsStored)
    package let bytesStored = Meter(.attachmentBytesStored)
    package let storeErrors = Counter(.objectStoreErrors)
    package let storeSeconds = Timer(.objectStoreSeconds)
    package let blobBytesReceived = Counter(.blobBytesReceived)
    package let blobBytesSent = Counter(.blobBytesSent)

    package init() {}
}
