import Contract
import Store

@testable import WhisperClient

/// A live conversation in a world: two devices that may whisper, and four that listen, join late, leave, and are
/// removed.
final class LiveScene {
    private unowned let world: World
    private(set) var record: LiveRecord!
    private let conversation: SharedConversation
    private var whisperers: [WhispererDevice] = []
    private var listeners: [ListenerDevice] = []
    /// Chance in a thousand, each fifth of a second.
    private let diligence: Int
    /// Scalars that are typed at once.
    private let verbosity: Int
    /// When typing ends, by the machine's clock.
    private var silentFrom: Int64?
    private var removesAt: Int64?
    /// From now on, all listeners join.
    private var areAllInvited = false
    /// The listener that was removed last, which stays away.
    private var lastRemoved: PrincipalID?

    /// Times from the end of the faults. Everything is healed before the last removal.
    private static let lastRemoval: Int64 = .seconds(28)
    private static let lastWord: Int64 = .seconds(36)
    /// How long the last word may take to reach all listeners.
    static let settleMax: Int64 = .seconds(120)
    private static let words = ["one ", "two ", "drei ", "quatre ", "😀 ", "e\u{301} ", "— "]

    init(in world: World) {
        self.world = world
        let machine = world.machine
        func some(_ most: Int) -> Int { Int.random(in: 0...most, using: &machine.random) }
        let days = some(1) * 30
        self.diligence = [100, 250, 500][some(2)]
        self.verbosity = some(3) == 0 ? 600 : 6
        let profile = UUIDText(high: 0x5000_0000_0000_4000, low: 0x8000_0000_0000_0001)
        self.conversation = SharedConversation(0, profile: profile, transcriptDays: days)
        let people = Identities.all
        for person in people {
            world.postgres.tables.auth.identities[person.identity] = .init(
                signKey: person.signPublicKey, encKey: person.encPublicKey, epoch: 0)
        }
        world.postgres.tables.auth.profiles[PostgresUUID(profile)] = people.prefix(2).map(\.identity)
        self.record = LiveRecord(world)
        self.whisperers = people.prefix(2).map { WhispererDevice($0, of: self.conversation, in: world) }
        self.listeners = people.dropFirst(2).enumerated().map { number, person in
            ListenerDevice(person, of: self.conversation, isCurious: number == 0, in: world)
        }
        self.whisperers[0].activate()
        for listener in self.listeners {
            // Some listeners knock before the stream exists, some late.
            world.machine.after(.milliseconds(Int64(some(30_000)))) { [weak listener] in listener?.listen() }
        }
    }

    private var machine: Machine { self.world.machine }
    private var devices: [LiveDevice] { self.whisperers + self.listeners }
    private func happens(_ chance: Int) -> Bool { Int.random(in: 0..<1_000, using: &self.machine.random) < chance }
    private func some(_ most: Int64) -> Int64 { Int64.random(in: 0...most, using: &self.machine.random) }
    private var active: WhispererDevice? { self.whisperers.first(where: \.isActive) }

    // MARK: Time

    /// Called every fifth of a second.
    func tick() {
        for device in self.devices { device.tick() }
        if self.areAllInvited {
            for listener in self.listeners where listener.id != self.lastRemoved { listener.listen() }
        }
        if let removesAt, self.machine.now >= removesAt {
            self.removesAt = nil
            let victim = self.listeners.filter(\.hasJoined).randomElement(using: &self.machine.random)
            if let victim, self.active?.remove(victim.id) == true { self.lastRemoved = victim.id }
        }
        // Two devices may have taken the stream from each other.
        if self.areAllInvited, self.active == nil { self.whisperers[0].activate() }
        guard self.silentFrom.map({ self.machine.now < $0 }) ?? true else { return }
        for whisperer in self.whisperers where whisperer.isActive && self.happens(self.diligence) {
            self.type(on: whisperer)
        }
    }

    private func type(on whisperer: WhispererDevice) {
        let random = { (count: Int) in Int.random(in: 0..<count, using: &self.machine.random) }
        let text = whisperer.typing.text.string
        switch random(20) {
        case 0, 1, 2: whisperer.type(text + "\n")
        case 3: whisperer.type(String(text.dropLast(3)))
        case 4: whisperer.type("")
        case 5: whisperer.interject("yes")
        case 6:
            let one = self.listeners.randomElement(using: &self.machine.random)
            whisperer.play(.sound(.bikeBell), to: random(2) == 0 ? one?.id : nil)
        default:
            var word = Self.words.randomElement(using: &self.machine.random)!
            while word.unicodeScalars.count < self.verbosity {
                word += Self.words.randomElement(using: &self.machine.random)!
            }
            whisperer.type(text + word)
        }
    }

    /// Called every second while faults happen.
    /// - Parameter lines: chance in a thousand of a fault at a device.
    func everySecond(lines: Int) {
        for device in self.devices where self.happens(lines) { self.trouble(device) }
        for listener in self.listeners {
            if !listener.isListening {
                if self.happens(60) { listener.listen() }
            } else if self.happens(8) {
                listener.leave()
            }
        }
        if self.happens(12), let one = self.listeners.randomElement(using: &self.machine.random) {
            self.active?.remove(one.id)
        }
        if self.happens(10) { self.changeDevices() }
    }

    /// The user changes to the other device, and may not stop this one.
    private func changeDevices() {
        guard let old = self.active, let new = self.whisperers.first(where: { $0 !== old }) else {
            return self.whisperers[0].activate()
        }
        if self.happens(500) { old.deactivate() }
        new.activate()
    }

    private func trouble(_ device: LiveDevice) {
        let rest = self.some(.seconds(6))
        let hears = self.some(.seconds(20))
        switch Int.random(in: 0..<8, using: &self.machine.random) {
        case 0, 1: device.hangUp(rest: rest)
        case 2, 3: device.loseNetwork(gatewayHearsAfter: hears, rest: rest)
        case 4, 5: device.enterTunnel(for: self.some(.seconds(25)))
        case 6: device.loseSession()
        default: (device as? WhispererDevice)?.loseMemory() ?? (device as? ListenerDevice)?.loseMemory()
        }
        self.world.troubled(for: max(rest, hears) + .seconds(5))
    }

    // MARK: The end

    /// Faults end. All listeners join and follow the text to its end; one may be removed.
    func calmDown() {
        for whisperer in self.whisperers.dropFirst() where self.active !== whisperer { whisperer.deactivate() }
        self.areAllInvited = true
        // Not in every world: a removal gives new keys to all, and so heals earlier losses.
        if self.happens(500) { self.removesAt = self.machine.now + Self.lastRemoval }
        self.silentFrom = self.machine.now + Self.lastWord
    }

    var isQuiet: Bool {
        guard let silentFrom, self.machine.now > silentFrom else { return false }
        return self.problems.isEmpty
    }

    func judge() { for problem in self.problems { self.world.record.fault(problem) } }

    /// Violations at the end.
    private var problems: [String] {
        let active = self.whisperers.filter(\.isActive)
        guard active.count == 1, let whisperer = active.first else { return ["\(active.count) devices whisper"] }
        let name = whisperer.person.name
        guard whisperer.isHolding,
            whisperer.epoch == self.world.postgres.tables.calls.epoch(of: self.conversation.id)
        else { return ["\(name) does not hold the stream"] }
        var problems = whisperer.isSettled ? [] : ["\(name) has not said everything"]
        if self.conversation.own.transcriptDays > 0 {
            let unstored = self.record.unstored(whisperer.typing.content)
            if !unstored.isEmpty { problems.append("not stored: lines \(unstored)") }
        }
        for listener in self.listeners where listener.id != self.lastRemoved {
            let name = listener.person.name
            guard listener.isListening, listener.hasJoined else {
                problems.append("\(name) has not joined")
                continue
            }
            if listener.ears.content != whisperer.typing.content { problems.append("\(name) follows another stream") }
            if listener.ears.text != whisperer.typing.text { problems.append("\(name) does not have the text of now") }
            let lost = self.record.lost(listener)
            if !lost.isEmpty { problems.append("lost for \(name): lines \(lost)") }
        }
        return problems
    }

    /// Releases all devices.
    func end() { (self.whisperers, self.listeners) = ([], []) }
}
