import CLibPQ
import Glibc

/// One session with the server, from connect to disconnect. Blocks its thread; belongs to one actor.
/// It always speaks pipelined, so that statements, and their preparation, share a round trip.
struct Session: ~Copyable {
    /// Why statements came to nothing.
    enum Failure: Error {
        /// The server refused the statement at `index` and skipped those behind it. The session is in order.
        case refused(ServerError, index: Int)
        /// The session is over.
        /// - untouched: the first statement of which it is certain that the server did not carry it out, nor any behind it.
        ///   nil if nothing is certain.
        case lost(reason: String, untouched: Int?)
    }

    fileprivate enum Sent {
        case forgetAll
        case preparation(SQL.Template, name: String)
        case statement(Int)
    }

    /// Statements that have been sent, and owe their answers.
    struct Started: ~Copyable {
        fileprivate let sent: [Sent]
        fileprivate let statements: Int
    }

    private let connection: OpaquePointer
    /// Longest silence of the server while it owes an answer, in milliseconds; nil for any length.
    private let silenceMax: Int32?
    /// Names of the statements that this session has prepared.
    private var prepared: [SQL.Template: String] = [:]
    /// Statements that the server holds for us, those forgotten here included.
    private var heldByServer = 0
    private var namesGiven = 0

    /// Connects. Blocks up to the configured time for each address that the host has.
    init(_ configuration: PostgresConfiguration) throws(Failure) {
        let keywords = configuration.keywords(urlOptions: Self.options(in: configuration.url))
        guard
            let connection = withCStrings(
                keywords.map(\.0),
                { names in
                    withCStrings(keywords.map(\.1)) { values in PQconnectdbParams(names, values, 1) }
                })
        else { throw .lost(reason: "out of memory", untouched: 0) }
        guard PQstatus(connection) == CONNECTION_OK else {
            let reason = Self.message(of: connection)
            PQfinish(connection)
            throw .lost(reason: reason, untouched: 0)
        }
        // Notices of the server would go to standard error, among the log lines.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        PQsetnonblocking(connection, 1)
        PQenterPipelineMode(connection)
        self.connection = connection
        let timeout = configuration.statementTimeout + StoreLimits.silenceGrace
        self.silenceMax = configuration.statementTimeout > .zero ? Int32(clamping: timeout.wholeMilliseconds) : nil
    }

    deinit {
        PQfinish(self.connection)
    }

    var descriptor: Int32 { PQsocket(self.connection) }
    var backendPID: Int32 { PQbackendPID(self.connection) }
    var isInTransaction: Bool {
        let status = PQtransactionStatus(self.connection)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    /// Runs statements in one round trip. Without a transaction open or opened by one of them, they are one by themselves.
    mutating func run(_ statements: [SQL]) throws(Failure) -> [Rows] {
        try self.finish(try self.start(statements))
    }

    /// The first half of `run`: does not wait.
    mutating func start(_ statements: [SQL]) throws(Failure) -> Started {
        Started(sent: try self.send(statements), statements: statements.count)
    }

    /// Waits for the server to begin its answer, no longer than this.
    func isAnswered(within timeout: Duration) -> Bool {
        let unsent = PQflush(self.connection)
        var descriptor = pollfd(
            fd: self.descriptor, events: Int16(POLLIN) | (unsent == 1 ? Int16(POLLOUT) : 0), revents: 0)
        return poll(&descriptor, 1, Int32(clamping: timeout.wholeMilliseconds)) > 0
            && descriptor.revents & ~Int16(POLLOUT) != 0
    }

    /// The second half of `run`.
    mutating func finish(_ started: consuming Started) throws(Failure) -> [Rows] {
        var answers: [Rows] = []
        answers.reserveCapacity(started.statements)
        var refusal: (error: ServerError, index: Int)?
        for command in started.sent {
            guard let result = try self.nextResult() else {
                throw .lost(reason: "an answer is missing", untouched: nil)
            }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                switch command {
                case .forgetAll: PQclear(result)
                case .preparation(let statement, let name):
                    PQclear(result)
                    self.prepared[statement] = name
                    self.heldByServer += 1
                case .statement: answers.append(Rows(taking: result))
                }
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
            default:
                let error = ServerError(result)
                PQclear(result)
                try self.checkAlive(after: error, answered: answers.count)
                if error.isStalePlan { self.prepared.removeAll() }
                refusal = refusal ?? (error, answers.count)
            }
            try self.drain()
        }
        if let error = try self.sync() { refusal = refusal ?? (error, answers.count) }
        if let refusal { throw .refused(refusal.error, index: refusal.index) }
        return answers
    }

    /// Runs a text of any number of statements without parameters. Unless it says otherwise they are one transaction.
    mutating func run(script: String) throws(Failure) {
        guard PQexitPipelineMode(self.connection) == 1, PQsendQuery(self.connection, script) == 1 else {
            throw .lost(reason: Self.message(of: self.connection), untouched: 0)
        }
        var refusal: ServerError?
        while let result = try self.nextResult() {
            let status = PQresultStatus(result)
            let error = ServerError(result)
            PQclear(result)
            switch status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                throw .lost(reason: "a script asked for COPY", untouched: nil)
            default:
                try self.checkAlive(after: error, answered: 0)
                refusal = error
            }
        }
        PQenterPipelineMode(self.connection)
        if let refusal { throw .refused(refusal, index: 0) }
    }

    // MARK: Sending

    private mutating func send(_ statements: [SQL]) throws(Failure) -> [Sent] {
        var sent: [Sent] = []
        sent.reserveCapacity(statements.count * 2)
        var names = self.prepared
        var isComplete = true
        if self.heldByServer + statements.count > StoreLimits.statementsPreparedMax, self.heldByServer > 0,
            PQtransactionStatus(self.connection) != PQTRANS_INERROR
        {
            sent.append(.forgetAll)
            isComplete = PQsendQueryParams(self.connection, "DEALLOCATE ALL", 0, nil, nil, nil, nil, 1) == 1
            names = [:]
            self.prepared = [:]
            self.heldByServer = 0
        }
        for (index, sql) in statements.enumerated() where isComplete {
            let name: String
            if let known = names[sql.template] {
                name = known
            } else {
                self.namesGiven += 1
                name = "s\(self.namesGiven)"
                names[sql.template] = name
                sent.append(.preparation(sql.template, name: name))
                let types = sql.template.types
                isComplete = PQsendPrepare(self.connection, name, sql.template.text, Int32(types.count), types) == 1
            }
            sent.append(.statement(index))
            isComplete = isComplete && self.send(sql, as: name)
        }
        // A statement that no Sync closes is never committed.
        guard isComplete, PQpipelineSync(self.connection) == 1 else {
            throw .lost(reason: Self.message(of: self.connection), untouched: 0)
        }
        return sent
    }

    private func send(_ sql: SQL, as name: String) -> Bool {
        let count = sql.template.types.count
        return sql.parameters.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { numbers in
                    let (lengths, formats) = (numbers[..<count], numbers[count...])
                    var position = 0
                    for index in 0..<count {
                        let length = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int32.self))
                        position += 4
                        let start = bytes.baseAddress.map { $0 + position }
                        values.initializeElement(
                            at: index, to: length < 0 ? nil : start?.assumingMemoryBound(to: CChar.self))
                        numbers.initializeElement(at: index, to: max(length, 0))
                        numbers.initializeElement(at: count + index, to: 1)
                        position += Int(max(length, 0))
                    }
                    return PQsendQueryPrepared(
                        self.connection, name, Int32(count), values.baseAddress,
                        UnsafeBufferPointer(rebasing: lengths).baseAddress,
                        UnsafeBufferPointer(rebasing: formats).baseAddress, 1) == 1
                }
            }
        }
    }

    // MARK: Receiving

    /// The next result, or nil where the results of one command end.
    private func nextResult() throws(Failure) -> OpaquePointer? {
        while PQisBusy(self.connection) == 1 {
            guard self.exchange() || PQisBusy(self.connection) == 0 else {
                throw .lost(reason: Self.message(of: self.connection), untouched: nil)
            }
        }
        return PQgetResult(self.connection)
    }

    private func drain() throws(Failure) {
        while let result = try self.nextResult() { PQclear(result) }
    }

    /// Reads up to the end of the round trip, where a transaction that nobody opened commits.
    /// - Returns: why it could not.
    private func sync() throws(Failure) -> ServerError? {
        var refusal: ServerError?
        while true {
            let result = try self.nextResult()
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC: return refusal
            case PGRES_FATAL_ERROR where refusal == nil:
                guard let result else { throw .lost(reason: Self.message(of: self.connection), untouched: nil) }
                let error = ServerError(result)
                try self.checkAlive(after: error, answered: nil)
                refusal = error
                try self.drain()
            default: throw .lost(reason: "an answer is missing", untouched: nil)
            }
        }
    }

    /// - Parameter answered: statements answered before `error` came; nil if that were all.
    /// - Throws: `.lost` if the server or libpq has closed the session with `error`.
    private func checkAlive(after error: ServerError, answered: Int?) throws(Failure) {
        if error.endsSession {
            // The server says so while it is still before the end of this statement.
            throw .lost(reason: "\(error.sqlState) \(error.message)", untouched: answered)
        }
        // libpq's own errors have no state: after those nobody knows what the server did.
        guard PQstatus(self.connection) == CONNECTION_OK, !error.sqlState.isEmpty else {
            throw .lost(reason: Self.message(of: self.connection), untouched: nil)
        }
    }

    /// Sends what is waiting and takes what has come, after waiting for either.
    /// - Returns: false if the connection is broken or the server has been silent for too long.
    private func exchange() -> Bool {
        let unsent = PQflush(self.connection)
        guard unsent >= 0 else { return false }
        var descriptor = pollfd(
            fd: self.descriptor, events: Int16(POLLIN) | (unsent == 1 ? Int16(POLLOUT) : 0), revents: 0)
        var ready: Int32
        repeat {
            ready = poll(&descriptor, 1, self.silenceMax ?? -1)
        } while ready < 0 && errno == EINTR
        guard ready > 0 else { return false }
        guard descriptor.revents & ~Int16(POLLOUT) != 0 else { return true }
        return PQconsumeInput(self.connection) == 1
    }

    // MARK: Texts

    /// libpq's message, on one line. It names hosts and users, never passwords or parameters.
    private static func message(of connection: OpaquePointer) -> String {
        let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        return text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    private static func options(in url: String) -> String {
        guard let list = PQconninfoParse(url, nil) else { return "" }
        defer { PQconninfoFree(list) }
        var option = list
        while let keyword = option.pointee.keyword {
            if String(cString: keyword) == "options" { return option.pointee.val.map { String(cString: $0) } ?? "" }
            option += 1
        }
        return ""
    }
}

extension ServerError {
    init(_ result: OpaquePointer) {
        func field(_ code: Character) -> String {
            PQresultErrorField(result, Int32(code.asciiValue!)).map { String(cString: $0) } ?? ""
        }
        self.sqlState = field("C")
        self.message = field("M")
        self.constraint = field("n")
        self.isFatal = ["FATAL", "PANIC"].contains(field("V"))
        self.source = field("R")
    }
}

/// Calls `body` with a NULL-terminated array of C strings.
private func withCStrings<R>(_ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R) -> R {
    let copies = strings.map { UnsafePointer(strdup($0)) } + [nil]
    defer { for copy in copies { free(UnsafeMutableRawPointer(mutating: copy)) } }
    return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
}
