import ArgumentParser
import Glibc

/// Reads a QR code in a picture of the page's camera. The picture is a stranger's, and the library that reads it is C: it works in a
/// process of its own, which cannot open anything and ends soon.
enum CodeReader {
    /// Pixels.
    static let widths = 1...640
    static let heights = 1...480
    /// Bytes of a code's text. A code of the largest size has fewer.
    static let textBytesMax = 4_096
    /// Time for one picture, and its process's seconds of a processor and bytes of memory.
    private static let within = Duration.seconds(10)
    private static let lookEvery = Duration.milliseconds(2)
    fileprivate static let secondsMax: UInt = 2
    fileprivate static let memoryMax: UInt = 64 * 1_024 * 1_024
    /// `F_SETPIPE_SZ` of Linux, and a size that has room for the largest picture.
    private static let pipeSize: Int32 = 1_031
    private static let pipeBytes: Int32 = 512 * 1_024

    enum Answer: Equatable {
        case text(String)
        case nothing
        /// It could not be tried, and may be tried again.
        case failed
        /// The machine has no libzbar.
        case unavailable
    }

    /// A picture as the page sends it: width and height in two bytes each, then a byte for each pixel, row by row.
    struct Picture {
        var width, height: Int
        var pixels: ArraySlice<UInt8>

        init?(_ bytes: [UInt8]) {
            guard bytes.count > 4 else { return nil }
            self.width = Int(bytes[0]) << 8 | Int(bytes[1])
            self.height = Int(bytes[2]) << 8 | Int(bytes[3])
            self.pixels = bytes[4...]
            guard CodeReader.widths.contains(self.width), CodeReader.heights.contains(self.height),
                self.pixels.count == self.width * self.height
            else { return nil }
        }
    }

    static func read(_ picture: Picture) async -> Answer {
        var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        defer { for descriptor in input + output where descriptor >= 0 { close(descriptor) } }
        guard pipe(&input) == 0, pipe(&output) == 0, fcntl(input[1], Self.pipeSize, Self.pipeBytes) >= 0,
            fcntl(input[1], F_SETFL, O_NONBLOCK) == 0, fcntl(output[0], F_SETFL, O_NONBLOCK) == 0
        else { return .failed }
        let written = picture.pixels.withUnsafeBytes { write(input[1], $0.baseAddress, $0.count) }
        guard written == picture.pixels.count,
            let process = ChildProcess.start(
                [ChildProcess.ownProgram, ReadCodeCommand.name, "\(picture.width)", "\(picture.height)"],
                input: input[0], output: output[1])
        else { return .failed }
        guard let status = await Self.end(of: process) else { return .nothing }
        guard status == 0 else { return status == ReadCodeCommand.noLibrary << 8 ? .unavailable : .nothing }
        close(output[1])
        output[1] = -1
        var text = [UInt8](repeating: 0, count: Self.textBytesMax)
        let count = Glibc.read(output[0], &text, text.count)
        guard count > 0, let read = String(validating: text.prefix(count), as: UTF8.self) else { return .nothing }
        return .text(read)
    }

    /// Waits for a process, and ends it if it takes too long.
    /// - Returns: how it has ended; `nil` if it was ended here.
    private static func end(of process: pid_t) async -> Int32? {
        let deadline = ContinuousClock.now + Self.within
        var status: Int32 = 0
        while waitpid(process, &status, WNOHANG) == 0 {
            guard ContinuousClock.now < deadline, (try? await Task.sleep(for: Self.lookEvery)) != nil else {
                kill(process, SIGKILL)
                waitpid(process, nil, 0)
                return nil
            }
        }
        return status
    }
}

/// The process that reads one picture. The program starts it itself.
struct ReadCodeCommand: ParsableCommand {
    static let name = "read-code"
    static let configuration = CommandConfiguration(
        commandName: Self.name, abstract: "Read a QR code in a grey picture on standard input.", shouldDisplay: false)
    /// The status if the machine has no libzbar.
    static let noLibrary: Int32 = 3

    @Argument var width: Int
    @Argument var height: Int

    func run() throws {
        guard CodeReader.widths.contains(self.width), CodeReader.heights.contains(self.height) else {
            throw ExitCode(64)
        }
        guard let library = CodeLibrary() else { throw ExitCode(Self.noLibrary) }
        try Self.limit(RLIMIT_CPU, to: CodeReader.secondsMax)
        try Self.limit(RLIMIT_DATA, to: CodeReader.memoryMax)
        try Self.limit(RLIMIT_NOFILE, to: 0)
        try Self.limit(__RLIMIT_NPROC, to: 0)
        try Self.limit(RLIMIT_CORE, to: 0)
        var pixels = [UInt8](repeating: 0, count: self.width * self.height)
        var count = 0
        while count < pixels.count {
            let more = pixels.withUnsafeMutableBytes {
                read(STDIN_FILENO, $0.baseAddress! + count, $0.count - count)
            }
            guard more > 0 else { throw ExitCode(65) }
            count += more
        }
        guard let text = library.text(in: pixels, self.width, self.height), text.count <= CodeReader.textBytesMax
        else { return }
        _ = write(STDOUT_FILENO, text, text.count)
    }

    private static func limit(_ what: __rlimit_resource, to most: UInt) throws {
        var limit = rlimit(rlim_cur: most, rlim_max: most)
        guard setrlimit(__rlimit_resource_t(what.rawValue), &limit) == 0 else { throw ExitCode(71) }
    }
}

/// libzbar. It is no library of this program, which does without it where it is not installed.
private struct CodeLibrary {
    private typealias Make = @convention(c) () -> OpaquePointer?
    private typealias Set = @convention(c) (OpaquePointer, UInt32, UInt32, Int32) -> Int32
    private typealias SetFormat = @convention(c) (OpaquePointer, UInt) -> Void
    private typealias SetSize = @convention(c) (OpaquePointer, UInt32, UInt32) -> Void
    private typealias SetData = @convention(c) (OpaquePointer, UnsafeRawPointer?, UInt, OpaquePointer?) -> Void
    private typealias Scan = @convention(c) (OpaquePointer, OpaquePointer) -> Int32
    private typealias First = @convention(c) (OpaquePointer) -> OpaquePointer?
    private typealias Text = @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?

    /// `ZBAR_NONE`, `ZBAR_QRCODE` and `ZBAR_CFG_ENABLE` of zbar.h, and the format `Y800`: a byte for each pixel.
    private static let (any, qrCode, enable): (UInt32, UInt32, UInt32) = (0, 64, 0)
    private static let grey: UInt = 0x3030_3859

    private let library: UnsafeMutableRawPointer

    init?() {
        guard let library = dlopen("libzbar.so.0", RTLD_NOW) else { return nil }
        self.library = library
    }

    private func function<Function>(_ name: String, as type: Function.Type) -> Function {
        unsafeBitCast(dlsym(self.library, name), to: type)
    }

    /// - Returns: what the first QR code of a picture says, up to its first zero; `nil` if there is none.
    func text(in pixels: [UInt8], _ width: Int, _ height: Int) -> [UInt8]? {
        guard let scanner = self.function("zbar_image_scanner_create", as: Make.self)(),
            let image = self.function("zbar_image_create", as: Make.self)()
        else { return nil }
        let set = self.function("zbar_image_scanner_set_config", as: Set.self)
        _ = set(scanner, Self.any, Self.enable, 0)
        _ = set(scanner, Self.qrCode, Self.enable, 1)
        self.function("zbar_image_set_format", as: SetFormat.self)(image, Self.grey)
        self.function("zbar_image_set_size", as: SetSize.self)(image, UInt32(width), UInt32(height))
        return pixels.withUnsafeBytes { bytes in
            self.function("zbar_image_set_data", as: SetData.self)(image, bytes.baseAddress, UInt(bytes.count), nil)
            guard self.function("zbar_scan_image", as: Scan.self)(scanner, image) > 0,
                let symbol = self.function("zbar_image_first_symbol", as: First.self)(image),
                let text = self.function("zbar_symbol_get_data", as: Text.self)(symbol)
            else { return nil }
            return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        }
    }
}
