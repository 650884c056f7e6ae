import Contract
import WhisperCore

/// Gives each numbered event to a program by HTTP, one after the other, until it has taken it.
struct Webhook: Sendable {
    /// The consumer of these events.
    static let consumer = "webhook"
    /// Pauses between attempts at one event.
    static let pauses = Backoff(first: .seconds(1), longest: .seconds(300))

    let seat: CoreSeat
    /// Sends one event.
    /// - Returns: whether it was taken.
    let post: @Sendable ([UInt8]) async -> Bool
    /// Waits. It throws if the daemon ends.
    let wait: @Sendable (Duration) async throws -> Void

    /// Returns when the core is closed.
    func run() async {
        var random = SystemRandomNumberGenerator()
        while let event = await self.seat.nextEvent() {
            // An event without a number tells of now: a repetition would be outdated.
            guard case .object(let members) = JSONText(event), let text = members["seq"],
                let number = Int64(String(decoding: text, as: UTF8.self))
            else { continue }
            var failures = 0
            while !(await self.post(event)) {
                failures += 1
                do { try await self.wait(Self.pauses.delay(after: failures, using: &random)) } catch { return }
            }
            // If the store does not keep that, the event comes again in the daemon's next life.
            await self.seat.acknowledge(number, by: Self.consumer)
        }
    }
}
