public import CWhisperCore
import Dispatch
import Glibc
import WhisperCore

// Functions declared in `whispercore.h`. The compiler compares each with its declaration there.

@c @implementation
public func wsp_abi_version() -> Int32 { WSP_ABI_VERSION }

/// Made once, and never changed or freed.
nonisolated(unsafe) private let version = UnsafePointer(strdup(Core.version))

@c @implementation
public func wsp_version() -> UnsafePointer<CChar>? { version }

@c @implementation
public func wsp_free(_ text: UnsafeMutablePointer<CChar>?) { free(text) }

// MARK: Life

@c @implementation
public func wsp_open(
    _ config_json: UnsafePointer<CChar>?, _ key: UnsafePointer<UInt8>?, _ key_len: Int,
    _ confirm: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<wsp_handle>?
) -> UnsafeMutablePointer<CChar>? {
    out?.pointee = 0
    guard !Handles.isFork else { return Texts.out(.forked) }
    do throws(CoreError) {
        guard let out else { throw CoreError.configuration("out") }
        var confirmation = CoreConfiguration.Confirmation.error
        if let confirm {
            let word = String(decoding: try Texts.bytes(confirm), as: UTF8.self)
            guard let known = CoreConfiguration.Confirmation(rawValue: word) else {
                throw CoreError.configuration("confirm")
            }
            confirmation = known
        }
        let configuration = try CoreConfiguration(json: try Texts.bytes(config_json))
        let handle = try Handles.add { () throws(CoreError) in
            try Core.open(
                configuration, key: key == nil && key_len == 0 ? nil : try Texts.key(key, key_len),
                confirmation: confirmation)
        }
        guard let handle else { throw CoreError.tooMany }
        out.pointee = handle
        return Texts.out(CoreAnswer.ok)
    } catch {
        return Texts.out(error)
    }
}

@c @implementation
public func wsp_suspend(_ handle: wsp_handle, _ deadline_ms: Int32) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        let outcome = Blocking.wait(until: deadline(deadline_ms)) { () -> CoreError? in
            do throws(CoreError) { try await core.suspend() } catch { return error }
            return nil
        }
        switch outcome {
        case .none: return CoreAnswer.done("suspended", isComplete: false)
        case .some(.none): return CoreAnswer.done("suspended", isComplete: true)
        case .some(.some(let error)): return error.answer
        }
    }
}

@c @implementation
public func wsp_resume(_ handle: wsp_handle) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        let error = Blocking.wait { () -> CoreError? in
            do throws(CoreError) { try await core.resume() } catch { return error }
            return nil
        }
        return (error ?? nil)?.answer ?? CoreAnswer.ok
    }
}

@c @implementation
public func wsp_close(_ handle: wsp_handle, _ deadline_ms: Int32) -> UnsafeMutablePointer<CChar>? {
    guard !Handles.isFork else { return Texts.out(.forked) }
    guard let core = Handles.remove(handle) else { return Texts.out(CoreAnswer.done("closed", isComplete: true)) }
    let isComplete = Blocking.wait(until: deadline(deadline_ms)) { await core.close() } != nil
    return Texts.out(CoreAnswer.done("closed", isComplete: isComplete))
}

@c @implementation
public func wsp_wipe(_ dir: UnsafePointer<CChar>?) -> UnsafeMutablePointer<CChar>? {
    guard !Handles.isFork else { return Texts.out(.forked) }
    do throws(CoreError) {
        let folder = String(decoding: try Texts.bytes(dir), as: UTF8.self)
        _ = try Core.wipe(folder: folder)
        return Texts.out(CoreAnswer.ok)
    } catch {
        return Texts.out(error)
    }
}

// MARK: Store

@c @implementation
public func wsp_rekey(
    _ handle: wsp_handle, _ key: UnsafePointer<UInt8>?, _ key_len: Int
) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        do throws(CoreError) {
            let key = try Texts.key(key, key_len)
            let error = Blocking.wait { () -> CoreError? in
                do throws(CoreError) { try await core.rekey(key) } catch { return error }
                return nil
            }
            return (error ?? nil)?.answer ?? CoreAnswer.ok
        } catch {
            return error.answer
        }
    }
}

@c @implementation
public func wsp_export(
    _ handle: wsp_handle, _ path: UnsafePointer<CChar>?, _ key: UnsafePointer<UInt8>?, _ key_len: Int
) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        do throws(CoreError) {
            let path = String(decoding: try Texts.bytes(path), as: UTF8.self)
            try core.export(to: path, key: try Texts.key(key, key_len))
            return CoreAnswer.ok
        } catch {
            return error.answer
        }
    }
}

@c @implementation
public func wsp_import(
    _ path: UnsafePointer<CChar>?, _ config_json: UnsafePointer<CChar>?, _ key: UnsafePointer<UInt8>?, _ key_len: Int
) -> UnsafeMutablePointer<CChar>? {
    guard !Handles.isFork else { return Texts.out(.forked) }
    do throws(CoreError) {
        let path = String(decoding: try Texts.bytes(path), as: UTF8.self)
        let configuration = try CoreConfiguration(json: try Texts.bytes(config_json))
        try Core.importing(path, configuration: configuration, key: try Texts.key(key, key_len))
        return Texts.out(CoreAnswer.ok)
    } catch {
        return Texts.out(error)
    }
}

// MARK: Commands and events

@c @implementation
public func wsp_send(
    _ handle: wsp_handle, _ utf8: UnsafePointer<CChar>?, _ len: Int
) -> UnsafeMutablePointer<CChar>? {
    withCommand(handle, utf8, len) { core, command in core.performBlocking(command) }
}

@c @implementation
public func wsp_query(
    _ handle: wsp_handle, _ utf8: UnsafePointer<CChar>?, _ len: Int
) -> UnsafeMutablePointer<CChar>? {
    withCommand(handle, utf8, len) { core, command in core.query(command) }
}

@c @implementation
public func wsp_recv(_ handle: wsp_handle, _ timeout_ms: Int32) -> UnsafeMutablePointer<CChar>? {
    guard !Handles.isFork, let core = Handles.core(handle) else { return nil }
    return core.nextEvent(until: timeout_ms < 0 ? nil : .now() + .milliseconds(Int(timeout_ms))).flatMap {
        Texts.out($0)
    }
}

@c @implementation
public func wsp_interrupt(_ handle: wsp_handle) {
    guard !Handles.isFork else { return }
    Handles.core(handle)?.interrupt()
}

@c @implementation
public func wsp_schema() -> UnsafeMutablePointer<CChar>? { Texts.out(CoreAnswer.schema) }

// MARK: Media

/// The largest frame, in bytes.
private let frameBytesMax = 16_777_216

@c @implementation
public func wsp_media_seal(
    _ key: UnsafePointer<UInt8>?, _ frame_no: UInt64, _ buf: UnsafeMutablePointer<UInt8>?, _ len: Int, _ cap: Int,
    _ out_len: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let key, let buf, let out_len, (0...frameBytesMax).contains(len), cap >= len + MediaFrame.overhead else {
        return 1
    }
    let sealed = MediaFrame.seal(
        Array(UnsafeBufferPointer(start: buf, count: len)), number: frame_no,
        key: Array(UnsafeBufferPointer(start: key, count: MediaFrame.keyBytes)))
    sealed.withUnsafeBufferPointer { bytes in
        if let start = bytes.baseAddress { buf.update(from: start, count: bytes.count) }
    }
    out_len.pointee = sealed.count
    return 0
}

@c @implementation
public func wsp_media_open(
    _ key: UnsafePointer<UInt8>?, _ frame_no: UInt64, _ buf: UnsafeMutablePointer<UInt8>?, _ len: Int,
    _ out_len: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let key, let buf, let out_len, (0...frameBytesMax + MediaFrame.overhead).contains(len) else { return 1 }
    let plain = MediaFrame.open(
        Array(UnsafeBufferPointer(start: buf, count: len)), number: frame_no,
        key: Array(UnsafeBufferPointer(start: key, count: MediaFrame.keyBytes)))
    guard let plain else { return 2 }
    plain.withUnsafeBufferPointer { bytes in
        if let start = bytes.baseAddress { buf.update(from: start, count: bytes.count) }
    }
    out_len.pointee = plain.count
    return 0
}

// MARK: Files of the host

@c @implementation
public func wsp_file_seal(
    _ handle: wsp_handle, _ from: UnsafePointer<CChar>?, _ to: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        do throws(CoreError) {
            return try core.sealFile(from: try Texts.path(from, "from"), to: try Texts.path(to, "to"))
        } catch {
            return error.answer
        }
    }
}

@c @implementation
public func wsp_file_open(
    _ handle: wsp_handle, _ from: UnsafePointer<CChar>?, _ to: UnsafePointer<CChar>?,
    _ key_json: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        do throws(CoreError) {
            return try core.openFile(
                from: try Texts.path(from, "from"), to: try Texts.path(to, "to"), key: try Texts.bytes(key_json))
        } catch {
            return error.answer
        }
    }
}

// MARK: Texts

@c @implementation
public func wsp_parse_text(_ utf8: UnsafePointer<CChar>?, _ len: Int) -> UnsafeMutablePointer<CChar>? {
    guard !Handles.isFork else { return Texts.out(.forked) }
    do throws(CoreError) {
        return Texts.out(try TextSpan.answer(try Texts.bytes(utf8, len, most: CoreLimits.textBytesMax)))
    } catch {
        return Texts.out(error)
    }
}

// MARK: -

private func withCore(_ handle: wsp_handle, _ body: (Core) -> [UInt8]) -> UnsafeMutablePointer<CChar>? {
    guard !Handles.isFork else { return Texts.out(.forked) }
    guard let core = Handles.core(handle) else { return Texts.out(.closed) }
    return Texts.out(body(core))
}

private func withCommand(
    _ handle: wsp_handle, _ utf8: UnsafePointer<CChar>?, _ len: Int, _ body: (Core, [UInt8]) -> [UInt8]
) -> UnsafeMutablePointer<CChar>? {
    withCore(handle) { core in
        do throws(CoreError) { return body(core, try Texts.bytes(utf8, len, most: CoreLimits.commandBytesMax)) } catch {
            return error.answer
        }
    }
}

/// A minute from now at most.
private func deadline(_ milliseconds: Int32) -> DispatchTime {
    .now() + .milliseconds(Int(min(max(milliseconds, 0), 60_000)))
}
