package import Bus
package import Store

/// Why a question could not be answered. The client hears INTERNAL_ERROR and may ask again; the cause goes to the log.
package enum HandlingError: Error {
    case store(StoreError)
    case bus(BusError)

    /// Whether it passes by itself. Otherwise it is a bug or a wrong set-up, and a person must act.
    var isPassing: Bool {
        switch self {
        case .store(.unavailable), .store(.outcomeUnknown), .store(.conflict), .store(.unique): true
        case .store: false
        case .bus(.unavailable), .bus(.full): true
        case .bus(.refused): false
        }
    }
}

/// Names the boundary that an error came over.
func atStore<T>(_ body: () async throws(StoreError) -> T) async throws(HandlingError) -> T {
    do throws(StoreError) { return try await body() } catch { throw .store(error) }
}

func atBus<T>(_ body: () async throws(BusError) -> T) async throws(HandlingError) -> T {
    do throws(BusError) { return try await body() } catch { throw .bus(error) }
}

extension PostgresPool {
    /// Runs a transaction, and again while others get in its way (`AuthLimits.attemptsMax`).
    func persistently<T: Sendable>(
        _ body: @Sendable (borrowing Transaction) async throws(StoreError) -> T
    ) async throws(StoreError) -> T {
        for _ in 1..<AuthLimits.attemptsMax {
            do throws(StoreError) {
                return try await self.withTransaction(body)
            } catch .conflict {
                continue
            } catch .unique {
                continue
            }
        }
        return try await self.withTransaction(body)
    }
}
