import Bus
import ClusterContract
import Contract
import NIOCore
import Telemetry

/// Everything that this process ever asks of Redis, as a value, and how it is written.
enum RedisCommand: Sendable {
    // Streams
    case append([UInt8], stream: String)
    case trim(stream: String, through: EntryID)
    /// Without `blockFor` the server answers at once.
    /// - Parameter bytesMax: of text that is kept of the answer.
    case read(
        [(stream: String, after: EntryID)], limit: Int, blockFor: Duration?, bytesMax: Int = BusLimits.readBytesMax)
    case take(stream: String, group: String, consumer: String, limit: Int, blockFor: Duration?)
    case claim(stream: String, group: String, consumer: String, idle: Duration, from: EntryID, limit: Int)
    /// Makes the group, and the stream if need be; everything in the stream is still to be taken.
    case makeGroup(String, stream: String)
    case acknowledge([EntryID], stream: String, group: String)
    case remove([EntryID], stream: String)
    case depth([String])
    // Keys
    case get(String)
    case getAll([String])
    case getAndDelete(String)
    case set(String, [UInt8], timeToLive: Duration)
    /// As `set`. Answered with what stood there.
    case exchange(String, [UInt8], timeToLive: Duration)
    case delete([String])
    case deleteIfStill(String, [UInt8])
    case touch(String, timeToLive: Duration)
    case time
    case admit(String, Allowance)
    case lease(String, RateRequest)
    // Publish/subscribe
    /// - Parameter isSharded: heard where the channel's slot is, and not in the whole of a cluster.
    case publish([UInt8], channel: String, isSharded: Bool)
    /// Answered once per channel.
    case subscribe([String], isSharded: Bool)
    // The connection itself
    case authenticate(user: String?, password: Secret)
    case ping
    // A node of a cluster
    case clusterInfo
    case clusterSlots
}

extension RedisCommand {
    /// Bytes of text that are kept of its answer. Redis counts entries and not bytes: what one read brings is bounded here.
    var textMax: Int {
        if case .read(_, _, _, let bytesMax) = self { bytesMax } else { .max }
    }

    /// The name whose slot says which master of a cluster it is for; `nil`: any will do. Several names in one command
    /// must have one slot.
    var place: String? {
        switch self {
        case .append(_, let stream), .trim(let stream, _), .take(let stream, _, _, _, _),
            .claim(let stream, _, _, _, _, _), .makeGroup(_, let stream), .acknowledge(_, let stream, _),
            .remove(_, let stream):
            stream
        case .read(let positions, _, _, _): positions.first?.stream
        case .depth(let names), .getAll(let names), .delete(let names), .subscribe(let names, _): names.first
        case .get(let key), .getAndDelete(let key), .set(let key, _, _), .exchange(let key, _, _),
            .deleteIfStill(let key, _), .touch(let key, _), .admit(let key, _), .lease(let key, _):
            key
        case .publish(_, let channel, _): channel
        case .time, .authenticate, .ping, .clusterInfo, .clusterSlots: nil
        }
    }

    /// `Pace.admit`, in the server.
    /// KEYS[1] the subject's time of rest, milliseconds as text; ARGV[1] milliseconds that one use takes; ARGV[2] milliseconds
    /// that may be used ahead. Returns 0, or the milliseconds to wait.
    ///
    /// It reckons in whole milliseconds and keeps thousandths: a time of rest that was rounded up to the next millisecond
    /// would refuse the last use of a minute's worth that is taken within one.
    private static let admission = """
        local t = redis.call('TIME')
        local now = t[1] * 1000 + math.floor(t[2] / 1000)
        local text = redis.call('GET', KEYS[1]) or ''
        local rest = math.max(tonumber(string.match(text, '^[%d.]+') or 0), now) + tonumber(ARGV[1])
        local excess = rest - now - tonumber(ARGV[2])
        if excess >= 1 then return math.ceil(excess) end
        local record = string.match(text, ':.*') or ''
        redis.call('SET', KEYS[1], string.format('%.3f', rest) .. record, 'PX', math.ceil(rest - now))
        return 0
        """

    /// `SharedPace.grant`, in the server. The value is the time of rest, and `:record:restoredUntil` if it was leased from.
    /// ARGV: step, ahead, uses, known, record, uncounted, as in `RateRequest`.
    private static let grant = """
        local t = redis.call('TIME')
        local now = t[1] * 1000 + math.floor(t[2] / 1000)
        local step, last = tonumber(ARGV[1]), now + tonumber(ARGV[2])
        local uses, known, uncounted = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6])
        local text = redis.call('GET', KEYS[1]) or ''
        local rest = math.max(tonumber(string.match(text, '^[%d.]+') or 0), now) + uncounted
        local record, told = string.match(text, ':(%d+):([%d.]+)$')
        if not record then record, told = t[1] .. string.format('%06d', t[2]), 0 end
        told = tonumber(told)
        if record ~= ARGV[5] and known > 0 then
            rest = rest + math.max(0, now + known - math.max(told, tonumber(record) / 1000))
            told = math.max(told, now + known)
        end
        rest = math.min(rest, last)
        local granted = math.max(0, math.min(uses, math.ceil((last - rest + 1) / step) - 1))
        rest = rest + granted * step
        local excess = rest + step - last
        if rest > now then
            redis.call('SET', KEYS[1], string.format('%.3f:%s:%.3f', rest, record, told), 'PX', math.ceil(rest - now))
        else
            redis.call('DEL', KEYS[1])
        end
        return {granted, excess < 1 and 0 or math.ceil(excess), string.format('%.3f', rest - now), record}
        """

    func write(into buffer: inout ByteBuffer) {
        switch self {
        case .append(let bytes, let stream):
            buffer.writeCommand("XADD", words: 8)
            buffer.writeWord(stream)
            buffer.writeBytes(appendMiddle)
            buffer.writeWord(bytes)

        case .trim(let stream, let through):
            buffer.writeCommand("XTRIM", words: 5)
            buffer.writeWord(stream)
            buffer.writeWord("MINID")
            buffer.writeWord("=")
            buffer.writeWord(through.next)

        case .read(let positions, let limit, let blockFor, _):
            buffer.writeCommand("XREAD", words: 4 + (blockFor == nil ? 0 : 2) + 2 * positions.count)
            buffer.writeWord("COUNT")
            buffer.writeWord(limit)
            buffer.writeBlock(blockFor)
            buffer.writeWord("STREAMS")
            for position in positions { buffer.writeWord(position.stream) }
            for position in positions { buffer.writeWord(position.after) }

        case .take(let stream, let group, let consumer, let limit, let blockFor):
            buffer.writeCommand("XREADGROUP", words: 9 + (blockFor == nil ? 0 : 2))
            buffer.writeWord("GROUP")
            buffer.writeWord(group)
            buffer.writeWord(consumer)
            buffer.writeWord("COUNT")
            buffer.writeWord(limit)
            buffer.writeBlock(blockFor)
            buffer.writeWord("STREAMS")
            buffer.writeWord(stream)
            buffer.writeWord(">")

        case .claim(let stream, let group, let consumer, let idle, let from, let limit):
            buffer.writeCommand("XAUTOCLAIM", words: 8)
            buffer.writeWord(stream)
            buffer.writeWord(group)
            buffer.writeWord(consumer)
            buffer.writeWord(idle.wholeMilliseconds)
            buffer.writeWord(from)
            buffer.writeWord("COUNT")
            buffer.writeWord(limit)

        case .makeGroup(let group, let stream):
            buffer.writeCommand("XGROUP", words: 6)
            buffer.writeWord("CREATE")
            buffer.writeWord(stream)
            buffer.writeWord(group)
            buffer.writeWord(0)
            buffer.writeWord("MKSTREAM")

        case .acknowledge(let ids, let stream, let group):
            buffer.writeCommand("XACK", words: 3 + ids.count)
            buffer.writeWord(stream)
            buffer.writeWord(group)
            for id in ids { buffer.writeWord(id) }

        case .remove(let ids, let stream):
            buffer.writeCommand("XDEL", words: 2 + ids.count)
            buffer.writeWord(stream)
            for id in ids { buffer.writeWord(id) }

        case .depth(let streams):
            buffer.writeCommand("EVAL", words: 3 + streams.count)
            buffer.writeWord("local d={} for i,k in ipairs(KEYS) do d[i]=redis.call('XLEN',k) end return d")
            buffer.writeWord(streams.count)
            for stream in streams { buffer.writeWord(stream) }

        case .time:
            buffer.writeCommand("TIME", words: 1)

        case .get(let key):
            buffer.writeCommand("GET", words: 2)
            buffer.writeWord(key)

        case .getAll(let keys):
            buffer.writeCommand("MGET", words: 1 + keys.count)
            for key in keys { buffer.writeWord(key) }

        case .getAndDelete(let key):
            buffer.writeCommand("GETDEL", words: 2)
            buffer.writeWord(key)

        case .set(let key, let value, let timeToLive):
            buffer.writeCommand("SET", words: 5)
            buffer.writeWord(key)
            buffer.writeWord(value)
            buffer.writeWord("PX")
            buffer.writeWord(timeToLive.wholeMilliseconds)

        case .exchange(let key, let value, let timeToLive):
            buffer.writeCommand("SET", words: 6)
            buffer.writeWord(key)
            buffer.writeWord(value)
            buffer.writeWord("PX")
            buffer.writeWord(timeToLive.wholeMilliseconds)
            buffer.writeWord("GET")

        case .delete(let keys):
            buffer.writeCommand("DEL", words: 1 + keys.count)
            for key in keys { buffer.writeWord(key) }

        case .deleteIfStill(let key, let value):
            buffer.writeCommand("EVAL", words: 5)
            buffer.writeWord("if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0")
            buffer.writeWord(1)
            buffer.writeWord(key)
            buffer.writeWord(value)

        case .admit(let key, let allowance):
            buffer.writeCommand("EVAL", words: 6)
            buffer.writeWord(Self.admission)
            buffer.writeWord(1)
            buffer.writeWord(key)
            buffer.writeWord("\(allowance.step)")
            buffer.writeWord("\(allowance.ahead)")

        case .lease(let key, let request):
            buffer.writeCommand("EVAL", words: 10)
            buffer.writeWord(Self.grant)
            buffer.writeWord(1)
            buffer.writeWord(key)
            buffer.writeWord("\(request.allowance.step)")
            buffer.writeWord("\(request.allowance.ahead)")
            buffer.writeWord(request.uses)
            buffer.writeWord("\(request.known)")
            buffer.writeWord("\(request.record)")
            buffer.writeWord("\(request.uncounted)")

        case .touch(let key, let timeToLive):
            buffer.writeCommand("PEXPIRE", words: 3)
            buffer.writeWord(key)
            buffer.writeWord(timeToLive.wholeMilliseconds)

        case .publish(let bytes, let channel, let isSharded):
            buffer.writeCommand(isSharded ? "SPUBLISH" : "PUBLISH", words: 3)
            buffer.writeWord(channel)
            buffer.writeWord(bytes)

        case .subscribe(let channels, let isSharded):
            buffer.writeCommand(isSharded ? "SSUBSCRIBE" : "SUBSCRIBE", words: 1 + channels.count)
            for channel in channels { buffer.writeWord(channel) }

        case .authenticate(let user, let password):
            buffer.writeCommand("AUTH", words: user == nil ? 2 : 3)
            if let user { buffer.writeWord(user) }
            buffer.writeWord(password.revealed)

        case .ping:
            buffer.writeCommand("PING", words: 1)

        case .clusterInfo:
            buffer.writeCommand("CLUSTER", words: 2)
            buffer.writeWord("INFO")

        case .clusterSlots:
            buffer.writeCommand("CLUSTER", words: 2)
            buffer.writeWord("SLOTS")
        }
    }
}

/// The words between stream and bytes in every XADD, written once: it is the busiest of all commands.
private let appendMiddle: [UInt8] = {
    var buffer = ByteBuffer()
    buffer.writeWord("MAXLEN")
    buffer.writeWord("~")
    buffer.writeWord(BusLimits.streamEntriesMax)
    buffer.writeWord("*")
    buffer.writeWord("d")
    return Array(buffer.readableBytesView)
}()

extension ByteBuffer {
    fileprivate mutating func writeWord(_ id: EntryID) {
        self.writeWord(id.milliseconds, id.sequence)
    }

    fileprivate mutating func writeBlock(_ blockFor: Duration?) {
        guard let blockFor else { return }
        self.writeWord("BLOCK")
        self.writeWord(blockFor.wholeMilliseconds)
    }
}

extension EntryID {
    /// The smallest position behind this one.
    fileprivate var next: EntryID {
        self.sequence == .max
            ? EntryID(milliseconds: self.milliseconds + 1, sequence: 0)
            : EntryID(milliseconds: self.milliseconds, sequence: self.sequence + 1)
    }
}

extension Duration {
    /// At least one: Redis takes zero for "for ever" (BLOCK) or refuses it (PX).
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = self.components
        return max(1, Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
