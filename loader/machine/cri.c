// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <nghttp2/nghttp2.h>

#include "kernel/clock.h"
#include "machine/machine.h"

#define METHOD "/runtime.v1.RuntimeService/ListPodSandbox"
#define TIMEOUT_MS 5000
#define ANSWER_MAX (16 << 20) /* bytes: what clients of the kubelet take */
#define GRPC_HEAD 5 /* bytes before a message: is it compressed, and its size */

const char *const cri_sockets[] = {
	"/run/containerd/containerd.sock",
	"/run/k3s/containerd/containerd.sock",
	"/run/crio/crio.sock",
	"/run/cri-dockerd.sock",
	NULL,
};

/* ---- the call */

struct call {
	int fd;
	FILE *answer; /* in memory */
	size_t size;
	int status; /* grpc-status; -1: not yet */
	char why[128]; /* grpc-message */
	const char *failed; /* why a callback failed */
	bool is_over;
};

static const char *why_not(int error)
{
	return error == EPIPE || error == ECONNRESET ? "it closed the connection" : strerror(error);
}

static ssize_t on_send(UNUSED nghttp2_session *session, const uint8_t *data, size_t size,
		       UNUSED int flags, void *to)
{
	struct call *c = to;
	ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	c->failed = why_not(errno);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_data(UNUSED nghttp2_session *session, UNUSED uint8_t flags, UNUSED int32_t stream,
		   const uint8_t *data, size_t size, void *to)
{
	struct call *c = to;

	c->size += size;
	if (c->size > ANSWER_MAX)
		c->failed = "its answer is too long";
	else if (fwrite(data, 1, size, c->answer) != size)
		c->failed = strerror(ENOMEM);
	if (c->failed)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	return 0;
}

/* Name and value end in a 0. */
static int on_header(UNUSED nghttp2_session *session, UNUSED const nghttp2_frame *frame,
		     const uint8_t *name, UNUSED size_t name_len, const uint8_t *value,
		     UNUSED size_t len, UNUSED uint8_t flags, void *to)
{
	struct call *c = to;

	if (!strcmp((const char *)name, "grpc-status"))
		c->status = atoi((const char *)value);
	if (!strcmp((const char *)name, "grpc-message"))
		snprintf(c->why, sizeof(c->why), "%s", (const char *)value);
	return 0;
}

static int on_close(UNUSED nghttp2_session *session, UNUSED int32_t stream, UNUSED uint32_t code,
		    void *to)
{
	struct call *c = to;

	c->is_over = true;
	return 0;
}

/* The request's message is empty: all pods. */
static ssize_t on_read(UNUSED nghttp2_session *session, UNUSED int32_t stream, uint8_t *buf,
		       size_t size, uint32_t *flags, UNUSED nghttp2_data_source *source,
		       UNUSED void *to)
{
	if (size < GRPC_HEAD)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	memset(buf, 0, GRPC_HEAD);
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return GRPC_HEAD;
}

#define HEADER(name, value) \
	{ (uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, sizeof(value) - 1, 0 }

static int submit(nghttp2_session *session)
{
	static const nghttp2_nv headers[] = {
		HEADER(":method", "POST"),
		HEADER(":scheme", "http"),
		HEADER(":path", METHOD),
		HEADER(":authority", "localhost"),
		HEADER("content-type", "application/grpc"),
		HEADER("te", "trailers"),
	};
	const nghttp2_settings_entry window = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, ANSWER_MAX };
	const nghttp2_data_provider body = { .read_callback = on_read };
	int ret = nghttp2_submit_settings(session, 0, &window, 1);

	if (ret)
		return ret;
	ret = nghttp2_submit_request(session, NULL, headers, sizeof(headers) / sizeof(*headers),
				     &body, NULL);
	return ret < 0 ? ret : 0;
}

/* Returns why it failed, or NULL. */
static const char *exchange(nghttp2_session *session, struct call *c)
{
	__u64 end_ns = now_ns() + TIMEOUT_MS * 1000000ull;
	int ret = submit(session);

	while (!ret && !c->is_over) {
		struct pollfd wait = { .fd = c->fd, .events = POLLIN };
		__u64 now = now_ns();
		__u8 buf[16384];
		ssize_t n;

		ret = nghttp2_session_send(session);
		if (ret || c->is_over)
			break;
		n = now < end_ns ? poll(&wait, 1, (end_ns - now) / 1000000 + 1) : 0;
		if (!n)
			return "it does not answer";
		n = n < 0 && errno == EINTR ? 0 : read(c->fd, buf, sizeof(buf));
		if (n < 0 || (!n && wait.revents))
			return why_not(n ? errno : EPIPE);
		n = nghttp2_session_mem_recv(session, buf, n);
		ret = n < 0 ? (int)n : 0;
	}
	if (!ret)
		return NULL;
	return c->failed ? c->failed : nghttp2_strerror(ret);
}

static const char *converse(struct call *c)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;
	const char *why;
	int ret;

	if (nghttp2_session_callbacks_new(&callbacks))
		return strerror(ENOMEM);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	ret = nghttp2_session_client_new(&session, callbacks, c);
	nghttp2_session_callbacks_del(callbacks);
	if (ret)
		return strerror(ENOMEM);
	why = exchange(session, c);
	nghttp2_session_del(session);
	if (!why && c->status)
		why = c->why[0] ? c->why : "it has no " METHOD;
	return why;
}

/* ---- the answer, in the encoding of protocol buffers */

struct bytes {
	const char *at, *end;
};

struct pb_field {
	__u64 number, value; /* value: of a varint */
	struct bytes bytes; /* of anything with a length */
};

enum {
	VARINT = 0,
	FIXED64 = 1,
	BYTES = 2,
	FIXED32 = 5
};

static bool take_varint(struct bytes *in, __u64 *value)
{
	*value = 0;
	for (int shift = 0; in->at < in->end && shift < 64; shift += 7) {
		__u8 byte = *in->at++;

		*value |= (__u64)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

static bool take_field(struct bytes *in, struct pb_field *f)
{
	__u64 key, len = 0;

	*f = (struct pb_field){};
	if (!take_varint(in, &key))
		return false;
	f->number = key >> 3;
	key &= 7;
	if (key == VARINT)
		return take_varint(in, &f->value);
	if (key == BYTES ? !take_varint(in, &len) : key != FIXED64 && key != FIXED32)
		return false;
	if (key != BYTES)
		len = key == FIXED64 ? 8 : 4;
	if (len > (__u64)(in->end - in->at))
		return false;
	f->bytes = (struct bytes){ in->at, in->at + len };
	in->at += len;
	return true;
}

static bool is_text(struct bytes b, const char *text)
{
	return (size_t)(b.end - b.at) == strlen(text) && !memcmp(b.at, text, b.end - b.at);
}

/* Finds the last field with this number, which counts; it is empty if there is none. */
static bool find_field(struct bytes in, __u64 number, struct pb_field *found)
{
	struct pb_field f;

	*found = (struct pb_field){ .bytes = { in.end, in.end } };
	while (in.at < in.end) {
		if (!take_field(&in, &f))
			return false;
		if (f.number == number)
			*found = f;
	}
	return true;
}

/* The fields of an entry of a map<string, string>, of PodSandbox and of PodSandboxMetadata. */
enum {
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
	SANDBOX_METADATA = 2,
	SANDBOX_CREATED_NS = 4,
	SANDBOX_LABELS = 5,
	METADATA_UID = 2
};

static bool take_label(struct bytes in, struct pod *pod)
{
	struct pb_field key, value;

	if (!find_field(in, ENTRY_KEY, &key) || !find_field(in, ENTRY_VALUE, &value))
		return false;
	MEM_ADD(pod->label, pod->n_labels) =
		mem_format("%.*s=%.*s", (int)(key.bytes.end - key.bytes.at), key.bytes.at,
			   (int)(value.bytes.end - value.bytes.at), value.bytes.at);
	return true;
}

/* A pod whose sandbox had to be made again has several: the newest one counts. */
static bool take_sandbox(struct bytes in, struct pod *list, int n, __u64 *newest_ns)
{
	struct pb_field metadata, uid, created, f;
	int i = 0;

	if (!find_field(in, SANDBOX_METADATA, &metadata) ||
	    !find_field(in, SANDBOX_CREATED_NS, &created) ||
	    !find_field(metadata.bytes, METADATA_UID, &uid))
		return false;
	while (i < n && !is_text(uid.bytes, list[i].uid))
		i++;
	if (i == n || (list[i].has_labels && created.value < newest_ns[i]))
		return true;
	newest_ns[i] = created.value;
	while (list[i].n_labels)
		free(list[i].label[--list[i].n_labels]);
	free(list[i].label);
	list[i].label = NULL;
	list[i].has_labels = true;
	while (in.at < in.end) {
		take_field(&in, &f);
		if (f.number == SANDBOX_LABELS && !take_label(f.bytes, &list[i]))
			return false;
	}
	return true;
}

bool cri_take_labels(const void *answer, size_t size, struct pod *list, int n)
{
	struct bytes in = { answer, (const char *)answer + size };
	__u64 *newest_ns AUTO_FREE = mem_new(n + 1, sizeof(*newest_ns));
	struct pb_field f;

	while (in.at < in.end)
		if (!take_field(&in, &f) ||
		    (f.number == 1 && !take_sandbox(f.bytes, list, n, newest_ns)))
			return false;
	return true;
}

/* ---- both */

static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	strncpy(to.sun_path, path, sizeof(to.sun_path) - 1);
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static int ask(int fd, const char *path, struct pod *list, int n)
{
	struct call c = { .fd = fd, .status = -1 };
	const char *why = NULL;
	char *answer = NULL;
	size_t size = 0;

	c.answer = open_memstream(&answer, &size);
	if (c.answer)
		why = converse(&c);
	if (!c.answer || fclose(c.answer))
		why = strerror(ENOMEM);
	if (!why && (size < GRPC_HEAD || answer[0] ||
		     !cri_take_labels(answer + GRPC_HEAD, size - GRPC_HEAD, list, n)))
		why = "its answer is malformed";
	if (why)
		err("%s: cannot read the labels of pods: %s", path, why);
	free(answer);
	return why ? EXIT_REFUSED : EXIT_DONE;
}

int cri_read_labels(const char *const *sockets, struct pod *list, int n)
{
	for (; *sockets; sockets++) {
		int fd AUTO_CLOSE = connect_to(*sockets);

		if (fd == -ENOENT || fd == -ECONNREFUSED)
			continue;
		if (fd < 0)
			return err_refused("%s: cannot read the labels of pods: %s", *sockets,
					   strerror(-fd));
		return ask(fd, *sockets, list, n);
	}
	return err_refused(
		"cannot read the labels of pods: no container runtime with CRI runs here\n"
		"it is looked for at %s and the like; select the pods by NAMESPACE/NAME",
		cri_sockets[0]);
}
