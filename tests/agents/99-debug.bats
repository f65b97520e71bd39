load agents
@test "the first start of claude on a terminal asks nothing, and a turn works" {
	login claude oauth
	talk 'expect:bypass permissions on' 'send:how are you' 'expect:how are you' 'send:\r' expect:finished \
		'send:\x03' 'expect:again to exit' 'send:\x03' -- claude || { sed 's/\x1b\[[0-9;?]*[a-zA-Z]/ /g' $T/screen | tail -c 3000; false; }
	seen 'r.field("authorization") == ["Bearer " + real]'
	only_the_provider
}
