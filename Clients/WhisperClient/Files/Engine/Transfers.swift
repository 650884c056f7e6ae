package import Contract
import FoundationEssentials

/// How far a file is.
package struct FileProgress: Sendable, Equatable {
    package var messageID: UUIDText
    package var place: Conversation
    /// The message's sender; `nil` for ourselves.
    package var author: WhisperID?
    /// Sealed bytes: done, and in all.
    package var bytes: Int64
    package var total: Int64
}

/// Why a file was not taken for a transfer. Nothing was stored.
package enum FileError: Error, Equatable {
    case send(SendError)
    case file(FileFailure)
    /// There is no such message, it has no file, or nothing opens it.
    case notFound
    /// No file was given under this id, or its time is over.
    case noFile
    /// `ClientLimits.uploadsMax`, `.downloadsMax`, `.filesComingMax`, or `.filesGivenMax`.
    case tooMany
    case store(ClientStoreError)
}

/// How an attempt to transfer a file has ended.
enum TransferOutcome: Sendable, Equatable {
    case complete
    /// Another attempt may do better.
    /// - isFurther: more of the file is here than before.
    case temporary(isFurther: Bool)
    /// There is no session any more, or nobody wants the file.
    case stopped
    case failed(FileFailure)
}

/// Files of messages: sealed here, uploaded before their messages go, and downloaded when somebody here wants them.
package final class Transfers {
    private let store: ClientStore
    private let files: TransferFiles
    private let server: any ServerLink
    private var random = SystemRandomNumberGenerator()
    /// Each wakes a task that transfers one file at a time.
    let signals = (0..<ClientLimits.transfersAtOnceMax).map { _ in WorkSignal() }
    /// Transfers under way, by the numbers of their messages.
    private var transfers: [Int64: Task<TransferOutcome, Never>] = [:]
    /// Messages whose files are under way, or wait for another attempt: nobody else takes these up.
    private var taken: Set<Int64> = []

    init(store: ClientStore, files: TransferFiles, server: any ServerLink) {
        self.store = store
        self.files = files
        self.server = server
    }

    /// A host's file to send.
    package enum Source: Sendable {
        case path(String)
        /// A file that was given by pieces. This takes it, whatever comes of it. It stays here for the host to read.
        case given(UUIDText)
    }

    /// Seals a file and queues a message with it: both are kept when this returns, and the host's file is not needed any
    /// more. Messages that are written later do not wait for it.
    /// - Parameters:
    ///   - text: what to say to it; may be empty.
    ///   - name: `nil` for that of the path, if it can be used.
    ///   - id: of the caller's choice. A message that has it already is returned as it stands.
    package func send(
        file source: Source, name: String? = nil, type: String, thumbnail: [UInt8]? = nil, voice: VoiceNote? = nil,
        image: ImageSize? = nil, text: String = "", in place: Conversation, id: UUIDText? = nil,
        replyTo: MessageReference? = nil,
        _ host: isolated some MailHost
    ) async throws(FileError) -> Message {
        do {
            guard text.utf8.count <= ClientLimits.textBytesMax else { throw SendError.tooLong(bytes: text.utf8.count) }
            if let id, let known = try self.store.messages.outgoing(id) { return known }
            if let ownID = host.id, place == .direct(ownID) { throw SendError.toSelf }
            let reader = try self.store.reader(in: place, as: host.id)
            let file = try await Self.sealed(source, type: type, in: self.files)
            let local = file.local
            let details = FileDetails(
                name: name ?? file.name, type: type, size: file.size, thumbnail: thumbnail, voice: voice, image: image)
            var message = reader.message(text, id: id, replyTo: replyTo, at: host.serverNow)
            message.attachment = Attachment(details: details, state: .waiting)
            do {
                message.expires = try self.store.disappearing.seconds(of: message, chosen: nil)
                // The same command may have come twice meanwhile.
                let known = try self.store.messages.outgoing(message.id)
                let isQueued =
                    try known == nil
                    && self.store.transfers.queue(message, file.secret, local: local, isKept: file.isKept)
                guard isQueued else {
                    await self.files.remove(local)
                    guard let known else { throw FileError.tooMany }
                    return known
                }
            } catch {
                await self.files.remove(local)
                throw error
            }
            await self.files.release(local)
            host.publish(.changed(message))
            // It was sealed meanwhile: whether its reader was a stranger before may be out of date.
            if message.isDirect { host.backup.wake() }
            self.wake()
            return message
        } catch let error as FileError {
            throw error
        } catch let error as SendError {
            throw .send(error)
        } catch {
            throw .store(error as? ClientStoreError ?? .failed("\(error)"))
        }
    }

    private typealias Sealed = (local: String, name: String?, secret: FileSecret, size: Int64, isKept: Bool)

    /// A host's file, sealed in the folder. `release` or `remove` must follow.
    private static func sealed(
        _ source: Source, type: String, in files: TransferFiles
    ) async throws(FileError) -> Sealed {
        let sizeMax = Self.sizeMax(ofType: type)
        switch source {
        case .path(let path):
            let (local, secret) = ("\(UUIDText.random())", FileSecret.random())
            do throws(FileFailure) {
                let size = try await files.seal(path, as: local, secret, sizeMax: sizeMax)
                let name = path.split(separator: "/").last.map(String.init)
                return (local, name.flatMap { FileDetails.isName($0) ? $0 : nil }, secret, size, false)
            } catch {
                await files.remove(local)
                throw .file(error)
            }
        case .given(let id):
            guard let given = await files.take(id) else { throw .noFile }
            guard given.size <= sizeMax else {
                await files.remove(given.local)
                throw .file(.tooLarge)
            }
            return (given.local, nil, given.secret, given.size, true)
        }
    }

    /// Plain bytes of a file that the server takes.
    package static func sizeMax(ofType type: String) -> Int64 {
        let sealed =
            if type.hasPrefix("image/") {
                Limits.imageBytesMax
            } else if type.hasPrefix("audio/") {
                Limits.audioBytesMax
            } else {
                Limits.fileBytesMax
            }
        return sealed - Int64(SecretboxPieces.tagBytes)
    }

    /// Downloads the file of a message of theirs to a path, now or when the server is back. It survives restarts.
    /// - Parameter target: absolute. A file that stands there at the end is replaced. `nil`: it is kept here, sealed.
    /// - Returns: the message as it stands now.
    package func fetch(
        of id: UUIDText, from author: WhisperID, to target: String?, _ host: isolated some MailHost
    ) throws(FileError) -> Message {
        do {
            guard let number = try self.store.transfers.number(of: id, from: author) else { throw FileError.notFound }
            guard try self.store.messages.incoming(id, from: author)?.attachment != nil else {
                throw FileError.notFound
            }
            let local = "\(UUIDText.random())"
            guard let message = try self.store.transfers.want(number, local: local, target: target) else {
                guard try self.store.transfers.hasFile(number) else { throw FileError.notFound }
                throw FileError.tooMany
            }
            host.publish(.changed(message))
            self.wake()
            return message
        } catch let error as FileError {
            throw error
        } catch {
            throw .store(error as? ClientStoreError ?? .failed("\(error)"))
        }
    }

    /// The plain bytes of a file that is kept here, to be read by pieces.
    /// - Parameter author: `nil` for a message of ours.
    package func plain(
        of id: UUIDText, from author: WhisperID?, _ host: isolated some MailHost
    ) async throws(FileError) -> PlainFile {
        let kept: (local: String, secret: FileSecret)?
        do throws(ClientStoreError) {
            let number = try self.store.transfers.number(of: id, from: author == host.id ? nil : author)
            kept = try number.flatMap { number throws(ClientStoreError) in try self.store.transfers.kept(number) }
        } catch {
            throw .store(error)
        }
        guard let kept else { throw .notFound }
        do throws(FileFailure) { return try await self.files.plain(kept.local, kept.secret) } catch {
            throw .file(error)
        }
    }

    /// Ends an upload with its message, or a download. Nothing of it stays on disk.
    /// - Parameter author: `nil` for a message of ours.
    /// - Returns: the message as it stands now; `nil` if nothing of it waits.
    package func cancel(
        of id: UUIDText, from author: WhisperID?, _ host: isolated some MailHost
    ) async throws(ClientStoreError) -> Message? {
        guard let number = try self.store.transfers.number(of: id, from: author) else { return nil }
        guard let (message, target) = try self.store.transfers.cancelTransfer(number) else { return nil }
        if let task = self.transfers[number] {
            task.cancel()
            _ = await task.value
        }
        if let target { await self.files.removePartial(of: target) }
        await self.sweep(host)
        host.publish(.changed(message))
        return message
    }

    /// A message that is deleted needs no file any more.
    func end(of message: Message) {
        let author = message.state == nil ? message.peer : nil
        guard let number = try? self.store.transfers.number(of: message.id, from: author) else { return }
        self.transfers[number]?.cancel()
        self.wake()
    }

    /// Ends transfers of messages that are gone, and removes their sealed files.
    func end(of numbers: [Int64], _ host: isolated some MailHost) async {
        for number in numbers { self.transfers[number]?.cancel() }
        await self.sweep(host)
    }

    /// Uploads of a conversation that wait, for whoever sends nothing more there.
    func cancelUploads(in place: Conversation) throws(ClientStoreError) -> [Message] {
        var messages: [Message] = []
        for number in try self.store.transfers.waitingUploads(in: place) {
            guard let (message, _) = try self.store.transfers.cancelTransfer(number) else { continue }
            self.transfers[number]?.cancel()
            messages.append(message)
        }
        self.wake()
        return messages
    }

    // MARK: Transfers

    /// To be called when a file waits for its transfer.
    func wake() {
        for signal in self.signals { signal.wake() }
    }

    /// Transfers what waits, one file after the other. `ClientLimits.transfersAtOnceMax` of these are at work.
    func work(_ host: isolated some MailHost) async {
        await self.sweep(host)
        while !Task.isCancelled, host.isOnline {
            do throws(ClientStoreError) {
                guard let transfer = try self.store.transfers.nextTransfer(except: self.taken) else {
                    return await self.sweep(host)
                }
                self.taken.insert(transfer.number)
                defer { self.taken.remove(transfer.number) }
                let task = Task { await host.transfers.attempt(transfer, host) }
                self.transfers[transfer.number] = task
                let outcome = await withTaskCancellationHandler {
                    await task.value
                } onCancel: {
                    task.cancel()
                }
                self.transfers[transfer.number] = nil
                try await self.settle(transfer, outcome, host)
            } catch {
                return host.storeFailed(error)
            }
        }
    }

    /// Removes sealed files that nothing needs any more.
    private func sweep(_ host: isolated some MailHost) async {
        guard let names = try? self.store.transfers.transferFiles() else { return }
        await self.files.sweep(keeping: names)
    }

    private func settle(
        _ transfer: Transfer, _ outcome: TransferOutcome, _ host: isolated some MailHost
    ) async throws(ClientStoreError) {
        switch outcome {
        case .complete where transfer.isUpload:
            guard let message = try self.store.transfers.uploaded(transfer.number) else { return }
            host.publish(.changed(message))
            try host.outbox.queued(message.id, in: message.place, host)
        case .complete:
            if let message = try self.store.transfers.downloaded(transfer) { host.publish(.changed(message)) }
            await self.sweep(host)
        case .failed(let failure): try await self.giveUp(transfer, failure, host)
        case .stopped:
            // A session that is refused ends soon, and its end stops this loop.
            if host.isOnline, try self.store.transfers.isTransferWaiting(transfer.number) {
                try await self.postpone(transfer, isFurther: false, host)
            }
        case .temporary(let isFurther): try await self.postpone(transfer, isFurther: isFurther, host)
        }
    }

    private func postpone(
        _ transfer: Transfer, isFurther: Bool, _ host: isolated some MailHost
    ) async throws(ClientStoreError) {
        guard !Task.isCancelled, host.isOnline else { return }
        let attempts = try self.store.transfers.countAttempt(transfer.number, isFurther: isFurther)
        guard attempts < ClientLimits.transferAttemptsMax else {
            return try await self.giveUp(transfer, .triedTooOften, host)
        }
        try? await Task.sleep(for: ClientLimits.resend.delay(after: max(attempts, 1), using: &self.random))
    }

    private func giveUp(
        _ transfer: Transfer, _ failure: FileFailure, _ host: isolated some MailHost
    ) async throws(ClientStoreError) {
        if let message = try self.store.transfers.fail(transfer, failure) { host.publish(.changed(message)) }
        if let target = transfer.target { await self.files.removePartial(of: target) }
        await self.sweep(host)
    }

    private func attempt(_ transfer: Transfer, _ host: isolated some MailHost) async -> TransferOutcome {
        transfer.isUpload ? await self.upload(transfer, host) : await self.download(transfer, host)
    }

    private func upload(_ transfer: Transfer, _ host: isolated some MailHost) async -> TransferOutcome {
        let total = transfer.details.sealedSize
        guard await self.files.size(of: transfer.local) == total else { return .failed(.unreadable) }
        let url: String
        do throws(NoURL) { url = try await self.uploadURL(of: transfer, host) } catch { return error.outcome }
        let progress = TransferProgress(of: transfer, from: 0, host)
        let files = self.files
        let status: Int
        do {
            status = try await self.server.upload(to: url, bytes: total) { place in
                await progress.moved(to: place)
                return await files.piece(of: transfer.local, at: place)
            }
        } catch {
            return Task.isCancelled ? .stopped : .temporary(isFurther: false)
        }
        switch status {
        case 200..<300:
            await progress.moved(to: total)
            return .complete
        case 400..<500:
            // The URL has ended, or the object was collected: the next attempt asks for another.
            try? self.store.transfers.set(url: nil, of: transfer.number)
            return .temporary(isFurther: false)
        default: return .temporary(isFurther: false)
        }
    }

    private struct NoURL: Error { var outcome: TransferOutcome }

    /// The URL of the attempt before, if it is still good.
    private func uploadURL(
        of transfer: Transfer, _ host: isolated some MailHost
    ) async throws(NoURL) -> String {
        if let url = transfer.url, let end = transfer.urlExpiresAt,
            host.serverNow + ClientLimits.uploadURLLeftMin < end
        {
            return url
        }
        guard let token = host.token else { throw NoURL(outcome: .stopped) }
        let body = FileExchange.encode(
            FileExchange.Presign(contentType: transfer.details.type, sizeBytes: transfer.details.sealedSize))
        guard let answer = try? await self.server.post(FileExchange.presignPath, body, bearer: token.token) else {
            throw NoURL(outcome: .temporary(isFurther: false))
        }
        switch answer.status {
        case 200:
            guard let presigned = FileExchange.decode(FileExchange.Presigned.self, answer.body),
                FileSecret.isObjectKey(presigned.objectKey)
            else { throw NoURL(outcome: .failed(.rejected)) }
            do throws(ClientStoreError) {
                try self.store.transfers.set(
                    url: (
                        presigned.uploadUrl, presigned.objectKey, Timestamp(milliseconds: presigned.expiresAt)
                    ), of: transfer.number)
            } catch {
                throw NoURL(outcome: .temporary(isFurther: false))
            }
            return presigned.uploadUrl
        case 401: throw NoURL(outcome: .stopped)
        case 403: throw NoURL(outcome: .failed(.quota))
        case 413: throw NoURL(outcome: .failed(.tooLarge))
        case 408, 429, 500...: throw NoURL(outcome: .temporary(isFurther: false))
        default: throw NoURL(outcome: .failed(.rejected))
        }
    }

    private func download(_ transfer: Transfer, _ host: isolated some MailHost) async -> TransferOutcome {
        guard let objectKey = transfer.secret.objectKey else { return .failed(.rejected) }
        let total = transfer.details.sealedSize
        var start = await self.files.size(of: transfer.local) ?? 0
        if start > total {
            await self.files.remove(transfer.local)
            start = 0
        }
        if start < total {
            let outcome = await self.fetch(transfer, objectKey, from: start, total: total, host)
            guard outcome == .complete else { return outcome }
        }
        // A cancelled download leaves nothing at its target.
        guard !Task.isCancelled else { return .stopped }
        do throws(FileFailure) {
            if let target = transfer.target {
                try await self.files.open(transfer.local, to: target, transfer.secret)
            } else {
                _ = try await self.files.plain(transfer.local, transfer.secret)
            }
            return .complete
        } catch {
            guard error == .damaged else { return .failed(error) }
            await self.files.remove(transfer.local)
            // The bytes of an earlier attempt may be the damaged ones.
            return start > 0 ? .temporary(isFurther: false) : .failed(.damaged)
        }
    }

    private func fetch(
        _ transfer: Transfer, _ objectKey: String, from start: Int64, total: Int64, _ host: isolated some MailHost
    ) async -> TransferOutcome {
        guard let token = host.token else { return .stopped }
        let path = FileExchange.downloadPath(objectKey)
        guard let answer = try? await self.server.get(path, bearer: token.token) else {
            return Task.isCancelled ? .stopped : .temporary(isFurther: false)
        }
        switch answer.status {
        case 200: break
        case 401: return .stopped
        case 403: return .failed(.forbidden)
        case 404: return .failed(.gone)
        case 408, 429, 500...: return .temporary(isFurther: false)
        default: return .failed(.rejected)
        }
        guard let download = FileExchange.decode(FileExchange.Download.self, answer.body) else {
            return .failed(.rejected)
        }
        let progress = TransferProgress(of: transfer, from: start, host)
        let files = self.files
        let status = try? await self.server.download(from: download.downloadUrl, startingAt: start) { piece, place in
            guard place + Int64(piece.count) <= total else { return false }
            guard await files.append(piece, to: transfer.local, at: place) else { return false }
            await progress.moved(to: place + Int64(piece.count))
            return true
        }
        let end = await self.files.size(of: transfer.local) ?? 0
        guard !Task.isCancelled else { return .stopped }
        switch status {
        case 200 where end == total, 206 where end == total: return .complete
        case 200, 206:
            // The answer has ended, and has another length: what is here is of no use.
            await self.files.remove(transfer.local)
            return .temporary(isFurther: false)
        case 404: return .failed(.gone)
        case 416:
            await self.files.remove(transfer.local)
            return .temporary(isFurther: false)
        default: return .temporary(isFurther: end > start)
        }
    }
}

/// Tells of one transfer at its steps.
private actor TransferProgress {
    private var steps: ProgressSteps
    private let publish: @Sendable (PassingNews) async -> Void
    private var file: FileProgress

    init(of transfer: Transfer, from start: Int64, _ host: some MailHost) {
        let total = transfer.details.sealedSize
        self.steps = ProgressSteps(total: total, from: start)
        self.publish = { await host.publish(.passing($0)) }
        self.file = FileProgress(
            messageID: transfer.message.id, place: transfer.message.place,
            author: transfer.isUpload ? nil : transfer.message.peer, bytes: start, total: total)
    }

    func moved(to bytes: Int64) async {
        guard self.steps.isStep(bytes) else { return }
        self.file.bytes = bytes
        await self.publish(.file(self.file))
    }
}
