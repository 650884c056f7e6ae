import Contract
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import TerminalText
import WhisperClient

/// Files that lead a browser to the page: a token in the address would stand in the list of processes.
final class AppLaunch: Sendable {
    private let files = Mutex<Set<String>>([])
    private let chosen: String?

    /// - Parameter folder: of this user alone; `nil` for the one that the session of the desktop has.
    init(folder: String? = nil) { self.chosen = folder }

    private func folder() throws -> String {
        if let chosen { return chosen }
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? "/"
        // A browser of a snap sees neither hidden folders nor those of other programs.
        if Self.isBrowserOfSnap { return home }
        let folder = (environment["XDG_RUNTIME_DIR"] ?? home + "/.cache") + "/whisper"
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { throw Problem("The folder \(folder) must belong to you, and nobody else may look into it.") }
        return folder
    }

    private static var isBrowserOfSnap: Bool {
        let entries = ["firefox_firefox", "chromium_chromium"]
        return entries.contains { access("/var/lib/snapd/desktop/applications/\($0).desktop", F_OK) == 0 }
    }

    /// - Returns: the path of a new file, which goes when its token is void.
    func file(to address: AppAddress, token: String) throws -> String {
        let folder = try self.folder()
        let start = folder.hasSuffix("/whisper") ? "open-" : "whisper-open-"
        let path = "\(folder)/\(start)\(Hexadecimal.text(Sodium.random(8))).html"
        let page = """
            <!doctype html><meta charset="utf-8"><title>Whisper</title>
            <meta http-equiv="refresh" content="0; url=\(address.origin)/#\(token)">

            """
        try SecretFile.write(Array(page.utf8), to: path)
        self.files.withLock { _ = $0.insert(path) }
        let seconds = Int(AppSessions.launchFor.components.seconds)
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) { self.remove(path) }
        return path
    }

    private func remove(_ path: String) {
        if self.files.withLock({ $0.remove(path) }) != nil { unlink(path) }
    }

    /// All tokens are void, or used.
    func removeAll() {
        for path in self.files.withLock({ Array($0) }) { self.remove(path) }
    }

    /// - Returns: the address in a file of `file(to:token:)`.
    static func link(in path: String) -> String? {
        guard let page = try? SecretFile.read(path, for: "launch", bytesMax: 1_024) else { return nil }
        let text = String(decoding: page, as: UTF8.self)
        return text.firstMatch(of: #/url=([^"]+)"/#).map { String($0.1) }
    }
}
