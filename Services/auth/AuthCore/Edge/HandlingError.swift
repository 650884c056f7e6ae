package import Bus
package import Store

/// Why a question could not be answered. The client hears INTERNAL_ERROR and may ask again; the cause goes to the log.
package enum HandlingError: Error {
    case store(StoreError)
    case bus(BusError)
    /// The request had waited too long when its turn came (`ServiceRequest.frameAgeMax`): its client has its answer.
    case tooLate

    /// Whether it passes by itself. Otherwise it is a bug or a wrong set-up, and a person must act.
    var isPassing: Bool {
        switch self {
        case .store(let error): error.isPassing
        case .bus(.unavailable), .bus(.full), .tooLate: true
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
