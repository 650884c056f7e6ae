import Bus
import ClusterContract
import Contract
import HTTPAccess
package import Store

// The state of the cluster, as far as this process can see it.
extension OperatorService {
    package struct Health: Equatable, Sendable {
        /// Processes with a connection to the database, in order.
        package var processes: [ProcessName]
        /// Releases of gateways that somebody is connected to, one for each; `nil` for a release that does not tell.
        package var gateways: [String?]
        /// `nil`: there is nothing to compare with yet.
        package var pace: MessagePace.Pace?
        /// `nil`: no backup has ever connected.
        package var backup: HealthViews.Backup?
        package var surroundings = Surroundings.Findings()
    }

    func health(at now: Timestamp, gateways nodes: Set<NodeID>) async throws(HTTPRefusal) -> Health {
        let seen = try await self.stored { () async throws(StoreError) in
            (
                processes: try await self.healthViews.processes(), backup: try await self.healthViews.backup(),
                stored: try await self.healthViews.stored()
            )
        }
        return Health(
            processes: seen.processes, gateways: try await self.releases(of: nodes),
            pace: seen.stored.flatMap { self.pace.look($0, at: now) }, backup: seen.backup,
            surroundings: self.surroundings?.found ?? Surroundings.Findings())
    }

    /// - Returns: the release of each of these gateways that lives.
    private func releases(of nodes: Set<NodeID>) async throws(HTTPRefusal) -> [String?] {
        guard !nodes.isEmpty else { return [] }
        do throws(BusError) {
            let words = try await self.keys.get(nodes.map { Keyspace.alive($0) })
            // Releases before this one set a single byte.
            return words.compactMap { $0 }.map { $0.count > 1 ? String(decoding: $0, as: UTF8.self) : nil }
                .sorted { ($0 ?? "") < ($1 ?? "") }
        } catch {
            // Redis has the users of an earlier release, in which auth may not read these keys.
            if case .refused = error { return nodes.map { _ in nil } }
            self.logger.warning("admin call not answered", [.error: "\(error)"])
            throw .internalError
        }
    }
}
