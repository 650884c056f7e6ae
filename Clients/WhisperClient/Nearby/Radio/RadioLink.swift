import Contract
import Synchronization

/// The phones around, over one radio. It has no thread of its own: callers and the radio's events drive the machine.
package final class RadioLink: NearbyLink {
    package let events: AsyncStream<NearbyEvent>
    private let continuation: AsyncStream<NearbyEvent>.Continuation
    private let radio: any Radio
    private let state: Mutex<State>

    private struct State {
        var machine: NearbyMachine
        var isOver = false
        var reading: Task<Void, Never>?
        /// Wakes the machine.
        var waking: (task: Task<Void, Never>, at: ContinuousClock.Instant)?
    }

    package init(_ radio: any Radio) {
        (self.events, self.continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(NearbyLimits.eventsWaitingMax))
        self.radio = radio
        let identity = (0..<Fragment.greetingBytes).map { _ in UInt8.random(in: 0...255) }
        self.state = Mutex(State(machine: NearbyMachine(identity: identity) { radio.mtu($0) }))
        // Bare: it ends with the radio, or with this link.
        let reading = Task { [weak self] in
            for await event in radio.events {
                guard let self else { return }
                self.step { $0.heard(event, at: .now) }
            }
            self?.end { $0.radioEnded(at: .now) }
        }
        self.state.withLock { $0.reading = reading }
    }

    deinit {
        self.state.withLock { state in
            guard !state.isOver else { return }
            state.reading?.cancel()
            state.waking?.task.cancel()
            self.radio.close()
            self.continuation.finish()
        }
    }

    package func start(title: String) { self.step { $0.start(title: title, at: .now) } }

    package func connect(_ peer: NearbyPeer) { self.step { $0.connect(peer, at: .now) } }

    package func disconnect(_ peer: NearbyPeer) { self.step { $0.disconnect(peer, at: .now) } }

    package func send(_ value: NearbyValue, to peer: NearbyPeer, token: UInt64) {
        self.step { $0.send(value, to: peer, token: token, at: .now) }
    }

    package func stop() { self.end { $0.stop(at: .now) } }

    // MARK: Parts

    /// Performs the machine's actions before its next decision.
    private func step(_ body: (inout NearbyMachine) -> [NearbyMachine.Action]) {
        self.state.withLock { state in
            guard !state.isOver else { return }
            let actions = body(&state.machine)
            guard self.perform(actions, &state) else {
                // The events are not read. The machine must not treat a dropped event as reported, so the link ends.
                _ = self.perform(state.machine.stop(at: .now), &state)
                return self.close(&state)
            }
            self.wake(&state)
        }
    }

    private func end(_ body: (inout NearbyMachine) -> [NearbyMachine.Action]) {
        self.state.withLock { state in
            guard !state.isOver else { return }
            _ = self.perform(body(&state.machine), &state)
            self.close(&state)
        }
    }

    private func close(_ state: inout State) {
        state.isOver = true
        state.reading?.cancel()
        state.waking?.task.cancel()
        self.radio.close()
        self.continuation.finish()
    }

    /// - Returns: `false` if an event had no room.
    private func perform(_ actions: [NearbyMachine.Action], _ state: inout State) -> Bool {
        var hasRoom = true
        for action in actions {
            switch action {
            case .advertise(let name): self.radio.advertise(service: NearbyService.uuid, name: name)
            case .stopAdvertising: self.radio.stopAdvertising()
            case .scan: self.radio.scan(service: NearbyService.uuid)
            case .stopScan: self.radio.stopScan()
            case .connect(let peer): self.radio.connect(peer)
            case .disconnect(let peer): self.radio.disconnect(peer)
            case .discover(let peer): self.radio.discover(peer)
            case .subscribe(let peer, let characteristic): self.radio.subscribe(peer, characteristic)
            case .write(let peer, let characteristic, let value, let token):
                self.radio.write(peer, characteristic, value, token: token)
            case .indicate(let peer, let characteristic, let value, let token):
                guard !self.radio.indicate(characteristic, value, to: peer, token: token) else { break }
                hasRoom = self.perform(state.machine.noRoom(token: token, at: .now), &state) && hasRoom
            case .tell(let event):
                if case .dropped = self.continuation.yield(event) { hasRoom = false }
            }
        }
        return hasRoom
    }

    private func awake() {
        self.state.withLock { $0.waking = nil }
        self.step { $0.tick(at: .now) }
    }

    /// A wake-up that is too early does nothing but set the next.
    private func wake(_ state: inout State) {
        guard let next = state.machine.nextWake else { return }
        if let waking = state.waking, waking.at <= next { return }
        state.waking?.task.cancel()
        // Bare: one at a time, and it ends with this link.
        let task = Task { [weak self] in
            guard (try? await Task.sleep(until: next, clock: .continuous)) != nil else { return }
            self?.awake()
        }
        state.waking = (task, next)
    }
}
