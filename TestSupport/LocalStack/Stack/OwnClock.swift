import Foundation

/// The wall clock of one process, by libfaketime (its man page names the variables): a file says by how many seconds it is off.
/// Clocks that only go forward are left alone, as when somebody sets a machine's time.
package struct OwnClock {
    private let file: String

    private static let library = "/usr/lib/\(Self.architecture)-linux-gnu/faketime/libfaketimeMT.so.1"

    #if arch(arm64)
    private static let architecture = "aarch64"
    #else
    private static let architecture = "x86_64"
    #endif

    /// Whether the library is here.
    package static var isAvailable: Bool { FileManager.default.fileExists(atPath: self.library) }

    init(of process: StackProcess, in folder: String) { self.file = "\(folder)/clock-\(process)" }

    var environment: [String: String] {
        [
            "LD_PRELOAD": Self.library, "FAKETIME_TIMESTAMP_FILE": self.file, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            // Seconds between two looks into the file.
            "FAKETIME_CACHE_DURATION": "1",
        ]
    }

    /// - Throws: `LaunchError.file`.
    func set(offBy seconds: Int) throws(LaunchError) {
        do {
            try Data("\(seconds < 0 ? "-" : "+")\(abs(seconds))\n".utf8).write(
                to: URL(fileURLWithPath: self.file), options: .atomic)
        } catch {
            throw .file(self.file, reason: error.localizedDescription)
        }
    }

    /// What the library leaves in shared memory for a process that was killed.
    static func removeTraces(of pid: pid_t) {
        for name in ["faketime_shm_\(pid)", "sem.faketime_sem_\(pid)"] {
            try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)")
        }
    }
}
