// grpcbed.js HOST:PORT: the calls of grpcbed.py with grpc-js, a line for each.
const fs = require("fs");
const grpc = require("@grpc/grpc-js");

const same = (b) => b;
const method = (name, requests, responses) => ({
	path: `/bed.Echo/${name}`, requestStream: requests, responseStream: responses,
	requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
});
const Client = grpc.makeGenericClientConstructor({
	Unary: method("Unary", false, false), Denied: method("Denied", false, false), Slow: method("Slow", false, false),
	Token: method("Token", false, false), ServerStream: method("ServerStream", false, true),
	ClientStream: method("ClientStream", true, false), Bidi: method("Bidi", true, true),
}, "bed.Echo");
const client = new Client(process.argv[2], grpc.credentials.createSsl(fs.readFileSync(process.env.SSL_CERT_FILE)));
const x = Buffer.from("x");
const told = (e) => `${grpc.status[e.code]} ${e.details}`;
const unary = (name, options) => new Promise((ok) => {
	client[name](x, options || {}, (e, r) => ok(e ? told(e) : r.toString()));
});
const collect = (call, each) => new Promise((ok) => {
	const got = [];
	call.on("data", (d) => { got.push(d.toString()); if (each) each(got.length); });
	call.on("end", () => ok(got.join(",")));
	call.on("error", (e) => ok(told(e)));
});

async function main() {
	console.log("Unary:", await unary("Unary"));
	console.log("ServerStream:", await collect(client.ServerStream(x)));
	console.log("ClientStream:", await new Promise((ok) => {
		const call = client.ClientStream((e, r) => ok(e ? told(e) : r.toString()));
		for (let i = 0; i < 20; i++) call.write(Buffer.alloc(50000));
		call.end();
	}));
	const bidi = client.Bidi();
	const all = collect(bidi, (n) => (n < 5 ? bidi.write(Buffer.from(`m${n}`)) : bidi.end()));
	bidi.write(Buffer.from("m0"));
	console.log("Bidi:", await all);
	console.log("Denied:", await unary("Denied"));
	console.log("Token:", await unary("Token"));
	console.log("Deadline:", await unary("Slow", { deadline: Date.now() + 500 }));
	console.log("Cancel:", await new Promise((ok) => {
		const call = client.Slow(x, (e) => ok(told(e)));
		setTimeout(() => call.cancel(), 300);
	}));
	console.log("Unary:", await unary("Unary"));
	client.close();
}
main();
