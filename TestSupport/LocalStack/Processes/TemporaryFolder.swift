import Foundation

/// A new folder of the system's temporary directory, for one test or one stack.
package struct TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter name: part of the folder's name, for whoever finds it.
    package init(named name: String) throws(LaunchError) {
        var template = Array("/tmp/whisper-\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .file("/tmp", reason: String(cString: strerror(errno)))
        }
        self.path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // Servers that run under another account must be able to pass.
        chmod(self.path, 0o755)
    }

    /// With `KEEP_FOLDERS=1` all of them stay, for whoever wants to read the logs of a test that failed.
    static let areKept = ProcessInfo.processInfo.environment["KEEP_FOLDERS"] != nil

    package func remove() {
        guard !Self.areKept else { return }
        try? FileManager.default.removeItem(atPath: self.path)
    }
}

/// Makes a folder and its parents; fine if it is there.
func makeFolder(_ path: String) throws(LaunchError) {
    do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
        throw .file(path, reason: "cannot be made: \(error.localizedDescription)")
    }
}
