import ArgumentParser
import Foundation

/// Orders to a crowd, a word on a line of its standard input.
enum CrowdOrder: String {
    /// All of its clients register and stay.
    case register
    /// Everybody goes.
    case go
    /// A few come back. So that what every server takes once, for its first clients, is not counted for the others.
    case comeFew
    case comeAll
}

/// Its answer, a line of JSON on its standard output.
struct CrowdAnswer: Codable, Sendable {
    /// Problems so far, and how often each occurred.
    var troubles: [String: Int] = [:]
    /// Why the order was not carried out.
    var failure: String?
}

/// Holds a part of many connections, because a process may have 20,000 descriptors. Started by `Crowd`; ends with it.
struct CrowdCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "crowd", shouldDisplay: false)

    /// Clients that come first.
    private static let few = 100

    @Option var count: Int
    @Option var firstAddress: Int
    @Argument var ports: [Int]

    func run() async throws {
        let fleet = Fleet(ports: self.ports, firstAddress: self.firstAddress)
        // Waiting for a line blocks a thread that nobody else here needs: clients live on their fleet's own.
        while let order = readLine().flatMap(CrowdOrder.init) {
            var answer = CrowdAnswer()
            do {
                try await fleet.follow(order, count: self.count, few: Self.few)
            } catch {
                answer.failure = "\(error)"
            }
            answer.troubles = await fleet.troubles
            say(String(decoding: try JSONEncoder().encode(answer), as: UTF8.self))
        }
        await fleet.leave()
    }
}

extension Fleet {
    fileprivate func follow(_ order: CrowdOrder, count: Int, few: Int) async throws {
        switch order {
        case .register: _ = try await self.register(count)
        case .go: for client in self.clients { self.disconnect(client) }
        case .comeFew: try await self.comeBack(self.clients.prefix(few).map(\.number))
        case .comeAll: try await self.comeBack(self.clients.map(\.number))
        }
    }
}
