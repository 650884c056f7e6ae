/*
 * WhisperCore: one client core for phones, terminals and bots. docs/embedding.md says how to use it, docs/core.md which
 * verbs and events there are.
 *
 * Texts are UTF-8. A text that comes back is the caller's: give it to wsp_free. NULL comes back where it is said, and if
 * there is no memory. All functions may be called from any thread. None calls back, prints, raises a signal or ends the
 * process.
 *
 * Answers are one JSON object: {"result":{"type":…,…}} or {"error":{"code":…,"message":…,"retryable":…,"field"?:…}}.
 * After fork() the child's calls with handles of its parent answer with the error "forked"; the child may open folders of
 * its own if its parent has opened none.
 */
#ifndef WHISPERCORE_H
#define WHISPERCORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a function changes its meaning. Additions leave it. */
#define WSP_ABI_VERSION 1

/* Never a pointer; 0 is none. Numbers are not used twice. */
typedef int64_t wsp_handle;

/* WSP_ABI_VERSION of the library. */
int32_t wsp_abi_version(void);

/* The release of the library, for example "0.1.0". It is static: do not free it. */
const char *wsp_version(void);

/*
 * Opens a folder, or makes it. It does not connect: the verb connect does.
 * config_json: {"dir":…,"serverUrl":…,"caFile"?:…,"platform"?:"ios"|"android","keyKind"?:"raw"|"passphrase","radio"?:…,
 * "client"?:"phone"|"tablet"|"desktop"|"web"|"terminal"|"daemon"|"bot","deviceId"?:…,
 * "logLevel"?:"debug"|"info"|"notice"|"warning"|"error"}, at most 65,536 bytes and a NUL.
 * key, key_len: seals the store. 32 random bytes, or with the keyKind "passphrase" 1 to 1,024 bytes. The key is copied, and
 * erased once the core is closed. A plain store is sealed with it, once; the words are erased then. NULL, 0: a plain store.
 * confirm: "error", "yesUp" or "yesUpDown": whether a store of an earlier release may be brought up to date, and with the last
 * one of a later release brought back. NULL: "error".
 * out: the handle; 0 if there is an error.
 * Errors: config, locked, wrongKey, notADatabase, needsUpgrade, needsDowngrade, tooNew, store, tooMany.
 */
char *wsp_open(const char *config_json, const uint8_t *key, size_t key_len, const char *confirm, wsp_handle *out);

/*
 * Does one command: a verb, or a verb, a space and one JSON object; at most 524,288 bytes. It does local work only.
 * Answers of the server come as events.
 */
char *wsp_send(wsp_handle handle, const char *utf8, size_t len);

/* The same for verbs that change nothing. The others answer with the error "notReadOnly". */
char *wsp_query(wsp_handle handle, const char *utf8, size_t len);

/*
 * Waits for the next event. One thread at a time; another gets the error "busyReader".
 * timeout_ms: below 0 waits as long as the core is open.
 * Returns "" if the time is over or wsp_interrupt was called; NULL once the core is closed, or after fork().
 */
char *wsp_recv(wsp_handle handle, int32_t timeout_ms);

/* Ends the current wait for an event, or the next one. */
void wsp_interrupt(wsp_handle handle);

/*
 * Ends connection and store, and lets go of the folder until wsp_resume. For apps that go to the background.
 * deadline_ms: how long to wait, 0 to 60,000. After it the work goes on, and the result has "isComplete":false.
 */
char *wsp_suspend(wsp_handle handle, int32_t deadline_ms);

/* Opens the folder again. It does not connect. Errors: as wsp_open. */
char *wsp_resume(wsp_handle handle);

/* Ends connection and store. The handle is none from here on, and closing it again is harmless. deadline_ms: as above. */
char *wsp_close(wsp_handle handle, int32_t deadline_ms);

/*
 * Seals the store with another key, of the kind that the configuration names. A plain store is sealed. The core is suspended
 * meanwhile, and connects again if it was connected. A crash leaves the store under either key.
 * Errors: config, noIdentity, locked, store.
 */
char *wsp_rekey(wsp_handle handle, const uint8_t *key, size_t key_len);

/*
 * Writes the identity to a file that is sealed with a key of its own: contacts and messages, but no session. The key is of
 * the kind that the configuration names. path: a file that does not exist. Errors: config, noIdentity, suspended, store.
 */
char *wsp_export(wsp_handle handle, const char *path, const uint8_t *key, size_t key_len);

/*
 * Makes a folder of a file that wsp_export has written. It stays sealed with the same key; open it with wsp_open.
 * config_json: as for wsp_open. Errors: config, identityExists, locked, wrongKey, notADatabase, tooNew, store.
 */
char *wsp_import(const char *path, const char *config_json, const uint8_t *key, size_t key_len);

/*
 * Seals a file of the host's into another one, with a key of its own: {"type":"fileSealed","bytes":…,"key":{"key":…,"nonce":…}}.
 * The core keeps neither file nor key. from, to: absolute paths; nothing stands at the second one.
 * Errors: closed, invalidField, file.
 */
char *wsp_file_seal(wsp_handle handle, const char *from, const char *to);
/*
 * The other way. key_json: the object "key" of the answer. Nothing stands at the second path if the file is not what was sealed.
 * Errors: as above, and wrongKey.
 */
char *wsp_file_open(wsp_handle handle, const char *from, const char *to, const char *key_json);
/*
 * Takes a text apart for showing: {"type":"text","spans":[{"text":…,"format"?:…}]}. format: "bold" for *text*, "italic" for
 * _text_, "struck" for ~text~, "code" for `text`, "link" for https://… and http://…, and "command" for /word at the beginning.
 * At most 65,536 bytes. Errors: tooLong, invalidCommand.
 */
char *wsp_parse_text(const char *utf8, size_t len);

/* Deletes a folder's identity: words, messages and all. It needs no key, and cannot be taken back. Errors: locked, store. */
char *wsp_wipe(const char *dir);

/*
 * Seals one frame of media in place (XSalsa20-Poly1305; the nonce is 16 zero bytes and frame_no in 8 bytes, the lowest
 * first). Use a key for one direction of one call, and a frame_no once with it.
 * buf: len bytes of the frame, room for cap. out_len: len + 16.
 * Returns 0; 1 if an argument is NULL, or a frame does not fit into cap or exceeds 16 MiB.
 */
int32_t wsp_media_seal(
    const uint8_t key[32], uint64_t frame_no, uint8_t *buf, size_t len, size_t cap, size_t *out_len);

/* The other way. out_len: len - 16. Returns 2, with buf as it was, if the frame is not what was sealed with key and frame_no. */
int32_t wsp_media_open(const uint8_t key[32], uint64_t frame_no, uint8_t *buf, size_t len, size_t *out_len);

/* All verbs and events, as OpenRPC. */
char *wsp_schema(void);

void wsp_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
