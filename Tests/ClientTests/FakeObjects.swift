import Contract
import Foundation
import Synchronization
import TestKit

@testable import WhisperClient

/// A store of sealed files in memory, with faults to order.
final class FakeObjects: Sendable {
    struct State {
        var objects: [String: [UInt8]] = [:]
        var presigned: [String: Int64] = [:]
        /// Bytes that each upload and download has moved; for a download its start too.
        var uploads: [Int] = []
        var downloads: [(start: Int64, bytes: Int)] = []
        /// The next transfers break after so many bytes.
        var breaksAfter: [Int] = []
        /// Transfers wait at their first piece until this is `false`.
        var holds = false
        /// The status of the next presigns, in place of 200.
        var refusals: [Int] = []
        /// Uploads are refused as if their URLs had ended.
        var endsURLs = 0
        /// `Range` is not known.
        var ignoresRange = false
        var presigns = 0
        var held: [AsyncStream<Void>.Continuation] = []
        /// Transfers under way now, and the most that ever were.
        var atOnce = 0
        var atOnceMax = 0
    }

    let state = Mutex(State())

    func set(_ change: (inout State) -> Void) {
        let released = self.state.withLock { state -> [AsyncStream<Void>.Continuation] in
            change(&state)
            guard !state.holds else { return [] }
            defer { state.held = [] }
            return state.held
        }
        for transfer in released { transfer.finish() }
    }

    func presign(_ body: [UInt8]) -> HTTPAnswer {
        self.state.withLock { state in
            if !state.refusals.isEmpty { return HTTPAnswer(status: state.refusals.removeFirst(), body: []) }
            let size = (try? JSON(parsing: body))?["sizeBytes"]?.integer ?? 0
            let key = "att/2026/01/\(UUIDText.random()).bin"
            state.presigned[key] = size
            state.presigns += 1
            let end = Int64(Date().timeIntervalSince1970 * 1_000) + 900_000
            return HTTPAnswer(
                status: 200,
                body: Array(
                    #"{"uploadUrl":"http://objects/\#(key)?s","objectKey":"\#(key)","expiresAt":\#(end),"headers":{"Content-Type":"application/octet-stream"}}"#
                        .utf8))
        }
    }

    func presignDownload(_ path: String) -> HTTPAnswer {
        let key = String(path.dropFirst("/attachments/".count).dropLast("/download".count))
        return self.state.withLock { state in
            guard state.objects[key] != nil else { return HTTPAnswer(status: 404, body: []) }
            return HTTPAnswer(
                status: 200, body: Array(#"{"downloadUrl":"http://objects/\#(key)?s","expiresAt":1}"#.utf8))
        }
    }

    private static func key(_ url: String) -> String {
        String(url.dropFirst("http://objects/".count).dropLast("?s".count))
    }

    private func begin() {
        self.state.withLock { state in
            state.atOnce += 1
            state.atOnceMax = max(state.atOnceMax, state.atOnce)
        }
    }

    private func end() { self.state.withLock { $0.atOnce -= 1 } }

    private func passes() async {
        let (released, transfer) = AsyncStream.makeStream(of: Void.self)
        let isHeld = self.state.withLock { state in
            if state.holds { state.held.append(transfer) }
            return state.holds
        }
        guard isHeld else { return }
        // Ends when transfers go on, or this one is cancelled.
        for await _ in released {}
    }

    func upload(
        to url: String, bytes: Int64, piece: @escaping @Sendable (Int64) async -> [UInt8]?
    ) async throws(LinkError) -> Int {
        self.begin()
        defer { self.end() }
        let key = Self.key(url)
        let (end, hasEnded) = self.state.withLock { state in
            guard state.endsURLs == 0 else {
                state.endsURLs -= 1
                return (0, true)
            }
            return (state.breaksAfter.isEmpty ? Int.max : state.breaksAfter.removeFirst(), false)
        }
        guard !hasEnded, self.state.withLock({ $0.presigned[key] }) == bytes else { return 403 }
        var object: [UInt8] = []
        while object.count < bytes {
            await self.passes()
            guard !Task.isCancelled, object.count < end, let part = await piece(Int64(object.count)) else {
                self.set { $0.uploads.append(object.count) }
                throw .timeout
            }
            object += part
        }
        self.set {
            $0.uploads.append(object.count)
            $0.objects[key] = object
        }
        return 200
    }

    func download(
        from url: String, startingAt start: Int64, take: @escaping @Sendable ([UInt8], Int64) async -> Bool
    ) async throws(LinkError) -> Int {
        self.begin()
        defer { self.end() }
        let (object, end, ignores) = self.state.withLock { state in
            (
                state.objects[Self.key(url)] ?? [],
                state.breaksAfter.isEmpty ? Int.max : state.breaksAfter.removeFirst(),
                state.ignoresRange
            )
        }
        let first = ignores ? 0 : Int(start)
        var place = first
        defer { self.set { $0.downloads.append((Int64(first), place - first)) } }
        while place < object.count {
            await self.passes()
            guard !Task.isCancelled, place - first < end else { throw .timeout }
            // Odd pieces, as networks have them.
            let piece = Array(object[place..<min(place + 10_007, object.count)])
            guard await take(piece, Int64(place)) else { return ignores || start == 0 ? 200 : 206 }
            place += piece.count
        }
        return ignores || start == 0 ? 200 : 206
    }
}

extension FakeServer {
    func upload(
        to url: String, bytes: Int64, piece: @escaping @Sendable (Int64) async -> [UInt8]?
    ) async throws(LinkError) -> Int {
        try await self.objects.upload(to: url, bytes: bytes, piece: piece)
    }

    func download(
        from url: String, startingAt start: Int64, take: @escaping @Sendable ([UInt8], Int64) async -> Bool
    ) async throws(LinkError) -> Int {
        try await self.objects.download(from: url, startingAt: start, take: take)
    }
}
